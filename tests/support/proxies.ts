import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './certificates.ts';
import { makeScratchFolder } from './files.ts';
import { until } from './time.ts';

const PROJECT = join(import.meta.dirname, '../..');
const FILES = join(PROJECT, 'deploy/proxy');

/** What nginx needs around a server. As root, its workers would be `nobody`, who cannot write to the folder. */
const nginxStart = (folder: string): string => {
  const user = process.getuid?.() === 0 ? 'user root;\n' : '';
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};\n`,
  );
  return `${user}daemon off;\npid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${folders.join('')}`;
};

type Ports = { http: number; https: number; services: readonly number[] };
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
    replacements: ({ http, https, services }, folder) => [
      [
        'server 127.0.0.1:8000 max_fails=0;',
        services.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join('\n  '),
      ],
      [/listen \[::\].*\n/g, ''],
      ['listen 80', `listen 127.0.0.1:${http}`],
      ['listen 443', `listen 127.0.0.1:${https}`],
      [/\/etc\/ssl\/steward/g, `${folder}/steward`],
    ],
    wrap: (folder) => ({ before: nginxStart(folder), after: '}\n' }),
    command: (config) => ['/usr/sbin/nginx', '-c', config],
  },
  haproxy: {
    file: 'haproxy.cfg',
    replacements: ({ http, https, services }, folder) => [
      [
        'server one 127.0.0.1:8000',
        services.map((port, index) => `server number${index} 127.0.0.1:${port}`).join('\n  '),
      ],
      ['bind :80', `bind 127.0.0.1:${http}`],
      ['bind :443', `bind 127.0.0.1:${https}`],
      ['/etc/haproxy/steward.pem', `${folder}/both.pem`],
    ],
    command: (config) => ['/usr/sbin/haproxy', '-db', '-f', config],
  },
  caddy: {
    file: 'Caddyfile',
    replacements: ({ http, https, services }, folder) => [
      ['127.0.0.1:8000', services.map((port) => `127.0.0.1:${port}`).join(' ')],
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

const GATE = join(PROJECT, 'docs/gate.md');
const LUA = join(PROJECT, 'deploy/proxy/steward-gate.lua');

type GatePorts = { proxy: number; service: number; app: number };

/** Replaces the ports of documented files. */
const adapt = (text: string, { proxy, service, app }: GatePorts): string =>
  text
    .replaceAll('127.0.0.1:8000', `127.0.0.1:${service}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${proxy}`)
    .replaceAll('127.0.0.1:4010', `127.0.0.1:${app}`);

const nginx = async (ports: GatePorts, folder: string) => {
  const documented = await readFile(join(PROJECT, 'docs/examples/gated-app/nginx.conf'), 'utf8');
  return `${nginxStart(folder)}${adapt(documented, ports)}}\n`;
};

/** The example at the top of the script. */
const haproxy = async (ports: GatePorts, folder: string, changeScript = (script: string) => script) => {
  const script = await readFile(LUA, 'utf8');
  await writeFile(`${folder}/gate.lua`, changeScript(script));
  const documented = [...script.matchAll(/^-- {3}(.*\n)/gm)]
    .map(([, line]) => line)
    .join('')
    .replace('/etc/haproxy/steward-gate.lua', `${folder}/gate.lua`)
    .replace('frontend apps\n', 'frontend apps\n  bind 127.0.0.1:8080\n');
  const example = `defaults
  mode http
  timeout client 10s
  timeout connect 2s
  timeout server 10s
${documented}`;
  return adapt(example, ports);
};

/** The example of docs/gate.md. */
const caddy = async (ports: GatePorts) => {
  const [, example] = /^# Caddy\n(.+?)^```/ms.exec(await readFile(GATE, 'utf8')) ?? [];
  if (!example) throw new Error('docs/gate.md has no example for Caddy.');
  return `{\n\tadmin off\n\tauto_https off\n}\nhttp://localhost:${ports.proxy} {\n\tbind 127.0.0.1\n${adapt(example, ports)}}\n`;
};

type GateSetup = {
  config: (ports: GatePorts, folder: string, changeScript?: (script: string) => string) => Promise<string>;
  command: (file: string) => string[];
};

const GATE_SETUPS = {
  nginx: { config: nginx, command: (file: string) => ['/usr/sbin/nginx', '-c', file] },
  haproxy: { config: haproxy, command: (file: string) => ['/usr/sbin/haproxy', '-db', '-f', file] },
  caddy: {
    config: caddy,
    command: (file: string) => ['/usr/bin/caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
} satisfies Record<string, GateSetup>;

export type GateProxy = keyof typeof GATE_SETUPS;
export const GATE_PROXIES = ['nginx', 'haproxy', 'caddy'] as const satisfies GateProxy[];

/**
 * Starts a proxy, as documented, that asks the service about each request to the app.
 * @param changeScript changes the script of HAProxy
 */
export const startGateProxy = async (
  name: GateProxy,
  ports: GatePorts,
  changeScript?: (script: string) => string,
) => {
  const { config, command }: GateSetup = GATE_SETUPS[name];
  const folder = await makeScratchFolder();
  const file = folder.join('config');
  await writeFile(file, await config(ports, folder.path, changeScript));
  return runProxy(command(file), { name, port: ports.proxy, folder });
};
