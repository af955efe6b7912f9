/**
 * Compilers of other languages and Maven for tests, from the PATH or, otherwise, from Debian's packages, unpacked into
 * the cache without root. The product and its build do not use them.
 */

import { execFile } from 'node:child_process';
import { access, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, relative } from 'node:path';
import { rootCertificates } from 'node:tls';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { cacheEntry, unpackDebianPackages } from '../../src/local/cache.ts';
import { ROOT } from './checkout.ts';
import { CACHE } from './servers.ts';

const run = promisify(execFile);

interface Tool {
  readonly programs: readonly string[];
  readonly package: string;
  /** Which dependencies are unpacked; system libraries are expected to be installed. */
  readonly parts: RegExp;
  /** Relative to the root of the unpacked packages; its programs are in `bin`. */
  readonly home: string;
  readonly homeVariable: string | null;
}

const JAVA: Tool = {
  programs: ['java', 'javac'],
  package: 'default-jdk-headless',
  parts: /^(default-jre|openjdk)-/,
  home: 'usr/lib/jvm/default-java',
  homeVariable: 'JAVA_HOME',
};
const MAVEN: Tool = {
  programs: ['mvn'],
  package: 'maven',
  parts: /^(maven|lib.+-java)$/,
  home: 'usr/share/maven',
  homeVariable: null,
};
const GO: Tool = {
  programs: ['go'],
  package: 'golang-go',
  parts: /^golang-/,
  home: 'usr/lib/go',
  homeVariable: 'GOROOT',
};

export interface Toolchain {
  /** Environment for its programs. */
  readonly environment: NodeJS.ProcessEnv;
  /** The program that is not available, and why; null if all are. */
  readonly missing: string | null;
}

export const javaToolchain = () => toolchain([JAVA, MAVEN]);
export const goToolchain = () => toolchain([GO]);

async function toolchain(tools: readonly Tool[]): Promise<Toolchain> {
  const environment = { ...process.env };
  for (const tool of tools) {
    if (await areOnPath(tool.programs)) continue;
    try {
      const home = join(await unpacked(tool), tool.home);
      environment.PATH = `${join(home, 'bin')}${delimiter}${environment.PATH}`;
      if (tool.homeVariable !== null) environment[tool.homeVariable] = home;
    } catch (error) {
      const { message } = error as Error;
      const missing = `${tool.programs.join(', ')}: not on the PATH, nor from Debian's package ${tool.package}: ${message}`;
      return { environment, missing };
    }
  }
  return { environment, missing: null };
}

async function areOnPath(programs: readonly string[]): Promise<boolean> {
  for (const program of programs) {
    if (!(await succeeds(run('sh', ['-c', 'command -v "$0"', program])))) return false;
  }
  return true;
}

function unpacked(tool: Tool): Promise<string> {
  const isUsable = (root: string) => succeeds(access(join(root, tool.home, 'bin', tool.programs[0] ?? '')));
  return cacheEntry(CACHE, `${tool.package}-${process.arch}`, isUsable, async (root) => {
    await unpackDebianPackages(await packagesOf(tool, root), root);
    await relink(root);
    if (tool === JAVA) await trustCertificates(root);
  });
}

/** Resolves the dependencies as if nothing were installed, with the machine's package lists or else new lists. */
async function packagesOf(tool: Tool, root: string): Promise<string[]> {
  const work = join(root, 'resolve');
  await mkdir(join(work, 'state/lists/partial'), { recursive: true });
  await writeFile(join(work, 'status'), '');
  const ownLists = ['-o', `Dir::State=${join(work, 'state')}`, '-o', `Dir::Cache=${join(work, 'cache')}`];
  const apt = (...args: readonly string[]) =>
    run('apt-get', ['-qq', '-o', `Dir::State::status=${join(work, 'status')}`, '-o', 'APT::Sandbox::User=', ...args]);
  const resolve = (...options: readonly string[]) =>
    apt(...options, '--simulate', '--no-install-recommends', 'install', tool.package);
  const { stdout } = await resolve().catch(async () => {
    await apt(...ownLists, '-o', 'Acquire::Languages=none', 'update');
    return resolve(...ownLists);
  });
  await rm(work, { recursive: true });
  const names = stdout.split('\n').flatMap((line) => /^Inst (\S+)/.exec(line)?.[1] ?? []);
  return names.filter((name) => name === tool.package || tool.parts.test(name));
}

/** Makes links to absolute paths relative, so that they refer to files under `root`. */
async function relink(root: string): Promise<void> {
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const target = await readlink(path);
    if (!target.startsWith('/')) continue;
    await rm(path);
    await symlink(relative(dirname(path), join(root, target)), path);
  }
}

/**
 * Builds the store of trusted certificates that an installation of Debian's Java would build, from the machine's or
 * Node.js's certificates.
 */
async function trustCertificates(root: string): Promise<void> {
  const certificates = await readFile('/etc/ssl/certs/ca-certificates.crt', 'utf8').catch(() =>
    rootCertificates.join('\n'),
  );
  const bundle = join(root, 'certificates.pem');
  await writeFile(bundle, certificates);
  const store = join(root, 'etc/ssl/certs/java/cacerts');
  await mkdir(dirname(store), { recursive: true });
  await run(join(root, JAVA.home, 'bin/java'), [join(ROOT, 'test/clients/generators/TrustStore.java'), bundle, store]);
}
