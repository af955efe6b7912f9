/**
 * The Helm chart, checked with Helm and with the types of Kubernetes and of the Prometheus operator, which are Go
 * modules. The tests are skipped, with the reason, if Go is missing or cannot fetch them.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT } from '../support/checkout.ts';
import { goToolchain } from '../support/toolchains.ts';

const HELM = 'helm.sh/helm/v3/cmd/helm@v3.14.4';
/** The first minor release of Go that can build these modules. */
const GO_MINOR_MIN = 22;
const CHART = join(ROOT, 'config/helm/vigie');

const run = promisify(execFile);
const work = await mkdtemp(join(tmpdir(), 'vigie-chart-'));
after(() => rm(work, { recursive: true, force: true }));
const skip = await install();

/** Resolves with the reason if the tools are not available. */
async function install(): Promise<string | false> {
  const { environment, missing } = await goToolchain();
  if (missing !== null) return missing;
  const env = { ...environment, GOBIN: work, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' };
  const { stdout } = await run('go', ['version'], { env });
  const minor = Number(/go1\.(\d+)/.exec(stdout)?.[1]);
  if (minor < GO_MINOR_MIN) return `the modules need Go 1.${GO_MINOR_MIN}: ${stdout.trim()}`;
  await cp(join(ROOT, 'test/clients/kubernetes'), join(work, 'decode-source'), { recursive: true });
  try {
    await run('go', ['install', HELM], { env });
    await run('go', ['build', '-o', join(work, 'decode'), '.'], { env, cwd: join(work, 'decode-source') });
    return false;
  } catch (error) {
    return `Go cannot build the tools: ${(error as Error).message.slice(0, 500)}`;
  }
}

const helm = async (...args: readonly string[]) => (await run(join(work, 'helm'), args)).stdout;
const render = (...args: readonly string[]) => helm('template', 'test', CHART, '--kube-version', '1.30.0', ...args);

/** Resolves with the kinds and names of the manifests. Rejects if one has a member that its type lacks. */
async function decode(manifests: string): Promise<string[]> {
  const decoding = run(join(work, 'decode'));
  decoding.child.stdin?.end(manifests);
  return (await decoding).stdout.trim().split('\n');
}

const MAIL = ['smtp.existingSecret=mail,smtp.from=alerts@example.org,publicUrl=https://alerts.example.org'];
const VALUES: Readonly<Record<string, readonly string[]>> = {
  'default values': [],
  'mail, an ingress and monitoring': [
    ...MAIL,
    'ingress.enabled=true,ingress.host=alerts.example.org,ingress.tlsSecret=tls,ingress.className=nginx',
    'monitoring.serviceMonitor=true,monitoring.prometheusRule=true,monitoring.labels.release=prometheus',
  ],
  'feeds, an existing claim and one pod a role': [
    'feeds.sources.agency.path=/srv/agency,feeds.sources.agency.format=poliris,persistence.existingClaim=journal',
    'roles.intake.replicas=1,roles.deliver.replicas=1,roles.api.replicas=1,networkPolicy.enabled=false',
  ],
};

test('helm lint finds no fault in the chart', { skip }, async () => {
  assert.match(await helm('lint', '--strict', CHART), /0 chart\(s\) failed/);
});

for (const [name, sets] of Object.entries(VALUES)) {
  test(`manifests of ${name} decode strictly`, { skip }, async () => {
    const manifests = await render(...sets.flatMap((set) => ['--set', set]));
    const found = await decode(manifests);
    assert.equal(found.filter((each) => each.startsWith('Deployment ')).length, 5);
    assert.equal(found.includes('PrometheusRule test-vigie'), name.includes('monitoring'));
    assert.equal(found.includes('ConfigMap test-vigie-feeds'), name.includes('feeds'));
    assert.equal(
      found.filter((each) => each.startsWith('PodDisruptionBudget ')).length,
      name.includes('one pod') ? 0 : 3,
    );
    await assert.rejects(decode(manifests.replace('replicas:', 'replicaz:')), /replicaz/);
  });
}

test('the chart has the alert rules of config/prometheus', { skip }, async () => {
  const manifests = await render('--set', 'monitoring.prometheusRule=true');
  const names = (text: string) => [...text.matchAll(/alert: (\w+)/g)].map(([, name]) => name).sort();
  assert.deepEqual(names(manifests), names(await readFile(join(ROOT, 'config/prometheus/alerts.yml'), 'utf8')));
});

test('values that the chart does not know are refused by name', { skip }, async () => {
  const values = join(work, 'values.yaml');
  await writeFile(values, 'roles: { intake: { replica: 3 } }\n');
  await assert.rejects(render('--values', values), /replica is not allowed/);
  await assert.rejects(render('--set', 'smtp.existingSecret=mail'), /smtp\.from is required/);
});
