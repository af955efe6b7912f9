/**
 * The part of the composition root that opens the intake of adverts. Every instance with this role keeps its matcher up
 * to date. Only the leader runs the pipeline from the stream to the database.
 */

import { isDeepStrictEqual } from 'node:util';
import { startTask } from '../engine/actor/task.ts';
import { announceFeed, onChange } from '../engine/broker/announcements.ts';
import { BROKER_BEHIND_MAX_MS } from '../engine/broker/connection.ts';
import { answerLeadClaims } from '../engine/broker/lead-claims.ts';
import { createPauseGate, type PauseGate } from '../engine/broker/pause-gate.ts';
import { ensureIntake, ensureRejections } from '../engine/broker/topology.ts';
import { createIntakeBreaker, type IntakeBreaker } from '../engine/intake/breaker.ts';
import { type Intake, startIntake } from '../engine/intake/intake.ts';
import { type LeaderTask, startLeadership } from '../engine/intake/leadership.ts';
import { type MatchSampling, sampleMatches } from '../engine/intake/match-sampling.ts';
import { type Matcher, startMatcher } from '../engine/intake/matcher.ts';
import type { IntakeStart, LostTail } from '../engine/intake/position.ts';
import { createRecorder, type RecorderDependencies } from '../engine/intake/recorder.ts';
import { startTrimming } from '../engine/intake/trimming.ts';
import { followPoints } from '../engine/maintenance/followed-points.ts';
import { startRetention } from '../engine/maintenance/retention.ts';
import { readFailedKeys } from '../engine/store/dead-letters.ts';
import type { IndexFigures } from '../engine/store/instances.ts';
import { openLeaderSession, type Term } from '../engine/store/intake-leader.ts';
import { computeMedians, followMedians } from '../engine/store/market-medians.ts';
import { changedSince, renumberRestored } from '../engine/store/search-feed.ts';
import { correctMatchTotals } from '../engine/store/search-totals.ts';
import { siteCategoryNames } from '../engine/store/site-categories.ts';
import { FEATURES } from '../features.ts';
import type { Log } from '../log.ts';
import { measureLead, measureStage } from './measures.ts';
import type { Parts } from './parts.ts';

/** While a computation takes less than 0.1 s, a market gets its median within this time after its fiftieth price. */
const COMPUTE_MEDIANS_EVERY_MS = 10_000;
/** The pause after a computation, as a multiple of its duration: computing uses at most a hundredth of the time. */
const COMPUTE_MEDIANS_REST = 99;
/** Short, because a former leader may still store the result of a computation that it began. */
const RENEW_EVERY_MS = 1_000;
const CORRECT_ESTIMATES_EVERY_MS = 60_000;
/** The messages since the last nightly dump stay in `ADVERTS`, even if it is full. */
const KEPT_FOR_DUMPS_MS = 24 * 3_600_000;

export async function openIntake(parts: Parts, databaseUrl: string): Promise<Matcher> {
  const { config, log, metrics, database, broker, heartbeat, draining, supervisor, fail, onTransientError } = parts;
  const medians = followMedians(database, parts.reference.nameOf);
  const matcher = await openMatcher(parts);
  const points = followPoints(database);
  const renew = () => Promise.all([medians.renew(), points.renew(matcher.combinations)]);
  // A term creates missing streams too, so after a failure here the parts that need only PostgreSQL still start.
  await ensureIntake(broker).catch((error: Error) => onTransientError('stream of adverts', error));
  await ensureRejections(broker).catch((error: Error) => onTransientError('stream of rejections', error));
  const gate = createPauseGate();
  let intake: Intake | null = null;
  let leadsSince: number | null = null;
  answerLeadClaims(broker, () => (leadsSince === null ? null : { ...parts.databaseLocation, since: leadsSince }));
  const inFlight = (): number => intake?.inFlight ?? 0;
  const leads = (): boolean => intake !== null;
  await heartbeat.addStage({ name: 'intake', gate, inFlight, leads });
  const breaker = createIntakeBreaker({
    ...config.breaker,
    nowMs: () => performance.now(),
    onRepeated: (reason) => fail(`intake: ${reason}`),
  });
  parts.checks.intake = () => breaker.restReason;
  const isClockRight = (): boolean => parts.clocks.brokerBehindMs <= BROKER_BEHIND_MAX_MS;
  const canPull = (): boolean => broker.isConnected() && !parts.jetStream.isSilent && isClockRight();
  const noteProgress = parts.stalls.follow('intake', () => gate.isOpen && (intake?.depth ?? 0) > 0);
  const observed = parts.observers.timed(matcher);
  const sampling = sampleMatches(observed.match);
  const compared = { medians: () => medians.current, nearest: () => points.current };
  const startTerm = createTermStart(
    parts,
    { ...compared, matcher: { ...observed, match: sampling.match } },
    { gate, breaker, noteProgress, renew },
  );
  const leadership = await startLeadership({
    openSession: () => openLeaderSession(databaseUrl, onTransientError),
    isFit: () => canPull() && breaker.restReason === null && parts.topology.found?.foreign === null,
    async lead(term) {
      const started = await startTerm(term);
      intake = started;
      return alongside(started, maintainAlongside(parts, renew, sampling), canPull);
    },
    onTerm(term) {
      if (term === null) intake = null;
      leadsSince = term === null ? null : Date.now();
      log.info({ term }, term === null ? 'This instance is a standby.' : 'This instance leads intake.');
    },
    supervisor,
  });
  draining('intake', () => leadership.stop());
  measureStage(metrics, 'intake', gate, inFlight);
  measureLead(metrics, database);
  heartbeat.setIndex({ figures: () => indexFigures(matcher), rebuild: () => matcher.rebuild() });
  metrics.gauge('vigie_searches', 'Searches in the index', () => matcher.stats.searches);
  metrics.gauge('vigie_index_bytes', 'Memory of the index', () => matcher.stats.bytes);
  metrics.gauge('vigie_intake_leads', '1 while this instance leads intake, 0 while it is a standby', () =>
    Number(leads()),
  );
  return matcher;
}

async function openMatcher(parts: Parts): Promise<Matcher> {
  const { log, database, broker, closing, supervisor, onTransientError } = parts;
  const startedAt = performance.now();
  let noteProgress = (): void => undefined;
  const matcher = await startMatcher({
    clock: () => new Date(),
    async changedSince(horizon, onSearch) {
      // Repeated here, because the database may have been restored while this process was running.
      if (horizon === null) await renumberRestored(database);
      const followed = await changedSince(database, horizon, (change) => {
        noteProgress();
        return onSearch(change);
      });
      noteProgress();
      return followed;
    },
    readSiteCategoryNames: () => siteCategoryNames(database),
    supervisor,
    onUnreadableSearch: (number, error) => log.error({ search: number, err: error }, 'A saved search cannot be read.'),
  });
  // The matcher always has work, because it checks every second whether searches have changed.
  noteProgress = parts.stalls.follow('matcher', () => true);
  closing('matcher', () => matcher.stop());
  const durationMs = Math.round(performance.now() - startedAt);
  log.info({ searches: matcher.stats.searches, durationMs }, 'The saved searches were loaded.');
  const refresh = () => void matcher.refresh().catch((error: Error) => onTransientError('refresh', error));
  onChange(broker, 'searches', refresh);
  return matcher;
}

/** Maximum number of sequences in one log line. */
const NEWS_TOLD_MAX = 10;

interface IntakeControls {
  readonly gate: PauseGate;
  readonly breaker: IntakeBreaker;
  readonly noteProgress: () => void;
  /** Reads the stored medians and points of interest again. */
  readonly renew: () => Promise<unknown>;
}

const LOST = 'The stream of adverts has lost its last messages. Crawlers should publish them again.';
const RESTORED =
  'The database was restored, or the stream of adverts was replaced. `Vigie-Sequence` continues far above the earlier ' +
  'numbers, so that receivers accept new webhooks.';

function noteRestored(log: Log, reason: string, shown: object): void {
  log.info({ reason, ...shown }, RESTORED);
}

/** Logs what the start of a term has found. A loss is found again if the start fails before it restarts the consumer. */
function createStartLog(log: Log): (start: IntakeStart) => void {
  let saidLoss: LostTail | null = null;
  return ({ behind, isKnownStream, isRestored, lost, ...start }) => {
    if (lost !== null) {
      if (!isDeepStrictEqual(lost, saidLoss)) log.warn(lost, LOST);
      saidLoss = lost;
    } else if (!isKnownStream) {
      log.warn('The stream of adverts is new or an older copy. Intake finds its position by the time of storage.');
    }
    if (isRestored) {
      noteRestored(log, 'The database is a copy, or it does not know this stream.', { isKnownStream, ...start });
    }
    if (behind > 0) log.info({ messages: behind }, 'The database may lack messages. They are read again.');
  };
}

/** A term begins with the stored medians and points, because another instance may have stored new ones. */
function createTermStart(
  parts: Parts,
  compared: Pick<RecorderDependencies, 'matcher' | 'medians' | 'nearest'>,
  { gate, breaker, noteProgress, renew }: IntakeControls,
): (term: Term) => Promise<Intake> {
  const { config, log, database, pipelineDatabase, broker, clocks, announcer, documents } = parts;
  const { reference, observers, supervisor, onTransientError } = parts;
  const features = FEATURES.flatMap(({ record }) => record?.(parts) ?? []);
  const recordBatch = createRecorder({
    database: pipelineDatabase,
    ...compared,
    resolvePlace: reference.resolvePlace,
    bounds: config.recordBounds,
    clock: () => new Date(),
    features,
  });
  const logStart = createStartLog(log);
  return async (term) => {
    breaker.recall(await readFailedKeys(database, config.breaker.windowMs));
    await renew();
    return startIntake(term, {
      broker,
      database: pipelineDatabase,
      recordBatch,
      recordBatchMax: config.recordBatchMax,
      recordBatchBytesMax: config.recordBounds.batchBytesMax,
      gate,
      breaker,
      clocks,
      onRestored: (news, start) =>
        noteRestored(log, 'The database lacks a message that was acknowledged.', {
          news: news.slice(0, NEWS_TOLD_MAX),
          ...start,
        }),
      onStart: logStart,
      announceDue: announcer.announce,
      onRecorded(recorded, batch, seconds) {
        noteProgress();
        documents.keep(recorded.snapshots);
        announceFeed(broker, recorded.fedClients);
        observers.onRecorded(recorded, batch, seconds);
        features.forEach(({ onRecorded }, at) => onRecorded(recorded.featurePairs[at] ?? []));
      },
      ...observers.crawlers,
      supervisor,
      onTransientError,
    });
  };
}

interface Maintenance {
  stop(): Promise<void>;
}

/** The leader also does the work that only one instance should do, so that this work needs no other lock. */
function maintainAlongside(
  { config, log, database, broker, observers, onTransientError }: Parts,
  renew: () => Promise<unknown>,
  sampling: MatchSampling,
): Maintenance {
  const kept: readonly Maintenance[] = [
    startRetention({
      database,
      days: config.retentionDays,
      features: FEATURES,
      onSwept: observers.onSwept,
      onTransientError,
    }),
    startTrimming({
      broker,
      database,
      keptMs: KEPT_FOR_DUMPS_MS,
      onTrim({ removed, heldBy }) {
        if (heldBy === null) log.info({ removed }, 'Recorded adverts were removed from the stream to make room.');
        else log.warn({ heldBy }, 'The stream of adverts is full, and none of its messages can be removed yet.');
      },
      onTransientError,
    }),
    startTask({
      what: 'medians of markets',
      everyMs: COMPUTE_MEDIANS_EVERY_MS,
      isDueAtOnce: true,
      async work() {
        const tookMs = await computeMedians(database);
        await renew();
        return Math.max(COMPUTE_MEDIANS_EVERY_MS, COMPUTE_MEDIANS_REST * tookMs);
      },
      onTransientError,
    }),
    startTask({
      what: 'stored medians and points of interest',
      everyMs: RENEW_EVERY_MS,
      work: async () => void (await renew()),
      onTransientError,
    }),
    startTask({
      what: 'estimates of matches',
      everyMs: CORRECT_ESTIMATES_EVERY_MS,
      work: () => correctMatchTotals(database, sampling.flush()),
      onTransientError,
    }),
  ];
  return {
    async stop() {
      await Promise.all(kept.map((each) => each.stop()));
    },
  };
}

function alongside(intake: Intake, maintenance: Maintenance, canPull: () => boolean): LeaderTask {
  const end = async (endIntake: () => Promise<void>): Promise<void> => {
    await Promise.all([endIntake(), maintenance.stop()]);
  };
  return {
    get isSound() {
      return intake.isSound && canPull();
    },
    drain: () => end(intake.drain),
    abandon: () => end(intake.abandon),
  };
}

function indexFigures(matcher: Matcher): Omit<IndexFigures, 'generation'> {
  const { searches, ...figures } = matcher.stats;
  return { searches, builtAt: matcher.builtAt.toISOString(), figures };
}
