import { execFile } from 'node:child_process';
import { chown, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { startService } from '../support/service-process.ts';

const UNIT = join(import.meta.dirname, '../../deploy/systemd/steward.service');
const MAX_EXPOSURE = 3;
/** `nobody`: as root, the service makes calls that it makes for no other user. */
const UID = 65_534;

const run = promisify(execFile);
const unit = suite('deploy/systemd/steward.service');

unit('is valid, and has a low exposure', async () => {
  const { stdout, stderr } = await run('systemd-analyze', ['verify', UNIT]);
  const security = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', UNIT]);
  const [, exposure] = /Overall exposure level for steward\.service: ([\d.]+)/.exec(security.stdout) ?? [];

  assert.is(stdout + stderr, '');
  assert.ok(Number(exposure) <= MAX_EXPOSURE, `exposure ${exposure}`);
});

unit('permits every system call of the service and its embedded database', async () => {
  await using folder = await makeScratchFolder();
  await chown(folder.path, UID, UID);
  const trace = folder.join('trace');
  const launcher = [
    ...(process.getuid?.() === 0 ? ['setpriv', `--reuid=${UID}`, `--regid=${UID}`, '--clear-groups'] : []),
    ...['strace', '--follow-forks', '--quiet=all', `--output=${trace}`, process.execPath],
  ];
  const admin = ['root@steward.test', 'a-password-for-tests'] as const;
  const settings = { DATA_DIR: folder.join('data'), ADMIN_EMAIL: admin[0], ADMIN_PASSWORD: admin[1] };
  await using service = await startService('serve', settings, [], { launcher });
  const { status, token } = await service.logIn(...admin);
  const users = await service.send('GET /jb/users/', { token });
  const { pid } = service;
  // strace passes no signal on that is sent to itself.
  const [child = ''] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ');
  process.kill(Number(child), 'SIGTERM');
  const ended = await service.ended;

  const calls = callsIn(await readFile(trace, 'utf8'));
  const permitted = await permittedCalls(await readFile(UNIT, 'utf8'));
  assert.equal([status, users.status, ended.code], [200, 200, 0]);
  assert.ok(calls.size > 50, `${calls.size} system calls`);
  assert.equal(
    [...calls].filter((call) => !permitted.has(call)),
    [],
  );
});

const callsIn = (trace: string): Set<string> =>
  new Set([...trace.matchAll(/^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)/gm)].map(([, name = '']) => name));

/** The calls that the lines `SystemCallFilter=` of a unit leave. */
const permittedCalls = async (text: string): Promise<Set<string>> => {
  const permitted = new Set<string>();
  for (const [, isRemoved, groups = ''] of text.matchAll(/^SystemCallFilter=(~?)(.*)$/gm))
    for (const group of groups.split(' '))
      for (const call of await callsOf(group)) {
        if (isRemoved) permitted.delete(call);
        else permitted.add(call);
      }
  return permitted;
};

/** A group contains calls and other groups. */
const callsOf = async (group: string): Promise<string[]> => {
  const { stdout } = await run('systemd-analyze', ['syscall-filter', '--no-pager', group]);
  const members = stdout
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const calls = await Promise.all(
    members.map((member) => (member.startsWith('@') ? callsOf(member) : [member])),
  );
  return calls.flat();
};

unit.run();
