import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import manifest from '../../package.json' with { type: 'json' };
import { MEMORY_SETTINGS } from '../../src/cli/node-launcher.js';
import { findOlderNode } from '../support/environment.ts';
import { makeScratchFolder } from '../support/files.ts';
import { runCommand, serverProcesses, startService } from '../support/service-process.ts';
import { makeDataDir } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const SOURCES = join(import.meta.dirname, '../../src');

const olderNode = suite('steward on a Node that is too old');

/** The memory settings that a process was not started with. */
const missingSettings = async (pid: number): Promise<string[]> => {
  const started = await Promise.all(
    ['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')),
  );
  const present = started.join('\0').split('\0');
  const { nodeOptions, env } = MEMORY_SETTINGS;
  return [...nodeOptions, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)].filter(
    (setting) => !present.includes(setting),
  );
};

const memory = suite('the memory settings of a service');

memory('reach the first process and every worker, and give way to options of the caller', async () => {
  await using folder = await makeDataDir();
  const settings = { DATA_DIR: folder.path, WORKERS: '2' };
  await using service = await startService('serve', settings, ['--max-semi-space-size=32']);
  // It is ready with the first.
  await until('both workers run', async () => (await childrenRunning(service.pid, 'cli.js')).length === 2);
  const workers = await childrenRunning(service.pid, 'cli.js');
  const commandLine = (await readFile(`/proc/${service.pid}/cmdline`, 'utf8')).split('\0');

  for (const pid of [service.pid, ...workers]) assert.equal(await missingSettings(pid), []);
  assert.equal(
    commandLine.filter((part) => part.startsWith('--max-semi')),
    ['--max-semi-space-size=8', '--max-semi-space-size=32'],
  );
});

if (process.platform === 'linux') memory.run();

const childrenRunning = async (pid: number, program: string): Promise<number[]> => {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean);
  const lines = await Promise.all(
    children.map(async (child) => ({ child, line: await readFile(`/proc/${child}/cmdline`, 'utf8') })),
  );
  return lines.filter(({ line }) => line.includes(program)).map(({ child }) => Number(child));
};

/** Of a process with one child. */
const childOf = async (pid: number): Promise<number> =>
  Number(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'));

const testWith = (node: string): void => {
  olderNode('runs a command on the bundled Node', async () => {
    const { code, stdout, stderr } = await runCommand(['--version'], {}, undefined, { launcher: [node] });

    assert.equal({ code, stdout, stderr }, { code: 0, stdout: `${manifest.version}\n`, stderr: '' });
  });

  olderNode('serves with the memory settings, and stops gracefully on SIGTERM', async () => {
    await using folder = await makeDataDir();
    await using service = await startService('serve', { DATA_DIR: folder.path }, [], { launcher: [node] });
    const child = await childOf(service.pid);
    const missing = await missingSettings(child);
    const { code, stdout } = await service.kill('SIGTERM');

    assert.equal(missing, []);
    assert.is(code, 0);
    assert.match(stdout, 'Stopping: SIGTERM');
    assert.equal(await serverProcesses(folder.path), []);
  });

  olderNode('leaves no service behind when it is killed', async () => {
    await using folder = await makeDataDir();
    await using service = await startService('serve', { DATA_DIR: folder.path }, [], { launcher: [node] });
    const ending = await service.kill('SIGKILL');

    // Resolves when all of them have closed standard output.
    assert.match(ending.stdout, 'Stopping: SIGTERM');
    assert.equal(await serverProcesses(folder.path), []);
  });

  olderNode('names the version it needs where no bundled Node is installed', async () => {
    await using folder = await makeScratchFolder();
    const cli = folder.join('src/cli.js');
    await writeFile(folder.join('package.json'), '{"type": "module"}');
    for (const file of ['cli.js', 'cli/node-launcher.js']) {
      await mkdir(dirname(folder.join('src', file)), { recursive: true });
      await cp(join(SOURCES, file), folder.join('src', file));
    }

    const { code, stdout, stderr } = await runCommand(['serve'], {}, folder.path, { launcher: [node], cli });

    assert.is(code, 1);
    assert.is(stdout, '');
    assert.match(
      stderr,
      /^Steward needs Node 24 or newer, and this is Node \d+\.\d+\.\d+\. Install it .*\n$/,
    );
  });
};

const older = findOlderNode();
if (process.platform !== 'linux') console.log('Left out the bundled Node: only Linux has one.');
else if (older === undefined) console.log('Left out the bundled Node: PATH has no Node between 18 and 23.');
else testWith(older);

olderNode.run();
