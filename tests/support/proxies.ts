import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { until } from './poll.ts';
import { makeScratchFolder } from './scratch-folder.ts';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './test-certificate.ts';

const FILES = join(import.meta.dirname, '../../deploy/proxy');

type Ports = { http: number; https: number; service: number };
type Replacements = readonly (readonly [string | RegExp, string])[];
type Setup = {
  file: string;
  /** What an operator replaces, and ports that need no root. */
  replacements: (ports: Ports, folder: string) => Replacements;
  /** Around the file, as the package of the proxy has it. */
  wrap?: (folder: string) => { before: string; after: string };
  command: (config: string, folder: string) => string[];
};

const SETUPS = {
  nginx: {
    file: 'nginx.conf',
    replacements: ({ http, https, service }, folder) => [
      ['127.0.0.1:8000', `127.0.0.1:${service}`],
      [/listen \[::\].*\n/g, ''],
      ['listen 80', `listen 127.0.0.1:${http}`],
      ['listen 443', `listen 127.0.0.1:${https}`],
      [/\/etc\/ssl\/steward/g, `${folder}/steward`],
    ],
    wrap: (folder) => ({
      // Its workers are `nobody` otherwise, who cannot write to the folder.
      before: `${process.getuid?.() === 0 ? 'user root;\n' : ''}daemon off;\npid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}\n`,
      after: '}\n',
    }),
    command: (config) => ['/usr/sbin/nginx', '-c', config],
  },
  haproxy: {
    file: 'haproxy.cfg',
    replacements: ({ http, https, service }, folder) => [
      ['127.0.0.1:8000', `127.0.0.1:${service}`],
      ['bind :80', `bind 127.0.0.1:${http}`],
      ['bind :443', `bind 127.0.0.1:${https}`],
      ['/etc/haproxy/steward.pem', `${folder}/both.pem`],
    ],
    command: (config) => ['/usr/sbin/haproxy', '-db', '-f', config],
  },
  caddy: {
    file: 'Caddyfile',
    replacements: ({ http, https, service }, folder) => [
      ['127.0.0.1:8000', `127.0.0.1:${service}`],
      [
        '\nsteward.example.com {',
        `{\n\tadmin off\n\thttp_port ${http}\n\tdefault_bind 127.0.0.1\n\tskip_install_trust\n}
https://localhost:${https} {\n\ttls ${folder}/steward.pem ${folder}/steward.key`,
      ],
    ],
    command: (config) => ['/usr/bin/caddy', 'run', '--adapter', 'caddyfile', '--config', config],
  },
} satisfies Record<string, Setup>;

export type ProxyName = keyof typeof SETUPS;
export const PROXY_NAMES = ['nginx', 'haproxy', 'caddy'] as const satisfies ProxyName[];

/** Starts a proxy with its file of `deploy/proxy` in front of a service, and a certificate for localhost. */
export const startProxy = async (name: ProxyName, ports: Ports) => {
  const setup: Setup = SETUPS[name];
  const folder = await makeScratchFolder();
  await writeFile(folder.join('steward.pem'), TEST_CERTIFICATE);
  await writeFile(folder.join('steward.key'), TEST_CERTIFICATE_KEY);
  await writeFile(folder.join('both.pem'), `${TEST_CERTIFICATE}\n${TEST_CERTIFICATE_KEY}`);
  const shipped = await readFile(join(FILES, setup.file), 'utf8');
  const adapted = setup.replacements(ports, folder.path).reduce(replace, shipped);
  const { before, after } = setup.wrap?.(folder.path) ?? { before: '', after: '' };
  const config = folder.join('config');
  await writeFile(config, before + adapted + after);

  return runProxy(setup.command(config, folder.path), { name, port: ports.https, folder });
};

type Run = { name: string; port: number; folder: Awaited<ReturnType<typeof makeScratchFolder>> };

/** Runs a proxy until it is disposed, with its folder. */
export const runProxy = async ([command = '', ...args]: string[], { name, port, folder }: Run) => {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder.path, XDG_DATA_HOME: folder.path },
  });
  const output = collect(child);
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
    await folder[Symbol.asyncDispose]();
  };
  try {
    await until(`${name} listens`, async () => child.exitCode !== null || (await accepts(port)));
    if (child.exitCode !== null) throw new Error(`${name} ended: ${output()}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { [Symbol.asyncDispose]: stop, output };
};

/** A shipped file without the text would be tested with its own ports. */
const replace = (text: string, [from, to]: Replacements[number]): string => {
  if (text.search(typeof from === 'string' ? literal(from) : from) < 0)
    throw new Error(`No ${from} in the file.`);
  return typeof from === 'string' ? text.replaceAll(from, to) : text.replace(from, to);
};

const literal = (text: string): RegExp => new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));

const collect = (child: ChildProcess): (() => string) => {
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  return () => text;
};

const accepts = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};
