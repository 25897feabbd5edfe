import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProxy } from './proxies.ts';
import { makeScratchFolder } from './scratch-folder.ts';

const PROJECT = join(import.meta.dirname, '../..');
const GATE = join(PROJECT, 'docs/gate.md');
const LUA = join(PROJECT, 'deploy/proxy/steward-gate.lua');

type Ports = { proxy: number; service: number; app: number };

/** Replaces the ports of documented files. */
const adapt = (text: string, { proxy, service, app }: Ports): string =>
  text
    .replaceAll('127.0.0.1:8000', `127.0.0.1:${service}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${proxy}`)
    .replaceAll('127.0.0.1:4010', `127.0.0.1:${app}`);

const NGINX_FOLDERS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

const nginx = async (ports: Ports, folder: string) => {
  const documented = await readFile(join(PROJECT, 'docs/examples/gated-app/nginx.conf'), 'utf8');
  const folders = NGINX_FOLDERS.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n');
  const user = process.getuid?.() === 0 ? 'user root;\n' : '';
  return `${user}daemon off;\npid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${folders}\n${adapt(documented, ports)}}\n`;
};

/** The example at the top of the script. */
const haproxy = async (ports: Ports, folder: string, changeScript = (script: string) => script) => {
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
${documented}
backend apps
  server app 127.0.0.1:4010
`;
  return adapt(example, ports);
};

/** The example of docs/gate.md. */
const caddy = async (ports: Ports) => {
  const [, example] = /^# Caddy\n(.+?)^```/ms.exec(await readFile(GATE, 'utf8')) ?? [];
  if (!example) throw new Error('docs/gate.md has no example for Caddy.');
  return `{\n\tadmin off\n\tauto_https off\n}\nhttp://localhost:${ports.proxy} {\n\tbind 127.0.0.1\n${adapt(example, ports)}}\n`;
};

type Setup = {
  config: (ports: Ports, folder: string, changeScript?: (script: string) => string) => Promise<string>;
  command: (file: string) => string[];
};

const SETUPS = {
  nginx: { config: nginx, command: (file: string) => ['/usr/sbin/nginx', '-c', file] },
  haproxy: { config: haproxy, command: (file: string) => ['/usr/sbin/haproxy', '-db', '-f', file] },
  caddy: {
    config: caddy,
    command: (file: string) => ['/usr/bin/caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
} satisfies Record<string, Setup>;

export type GateProxy = keyof typeof SETUPS;
export const GATE_PROXIES = ['nginx', 'haproxy', 'caddy'] as const satisfies GateProxy[];

/**
 * Starts a proxy, as documented, that asks the service about each request to the app.
 * @param changeScript changes the script of HAProxy
 */
export const startGateProxy = async (
  name: GateProxy,
  ports: Ports,
  changeScript?: (script: string) => string,
) => {
  const { config, command }: Setup = SETUPS[name];
  const folder = await makeScratchFolder();
  const file = folder.join('config');
  await writeFile(file, await config(ports, folder.path, changeScript));
  return runProxy(command(file), { name, port: ports.proxy, folder });
};
