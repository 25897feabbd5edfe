import { spawnSync } from 'node:child_process';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { runCommand } from '../support/service-process.ts';

/** Like `docker run --user`: without an entry in /etc/passwd. */
const UID = 52_345;
const SETPRIV = '/usr/bin/setpriv';
const AS_UID = [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups'];
const LAUNCHER = [SETPRIV, ...AS_UID, process.execPath];

const isRoot = process.getuid?.() === 0;
const canRun = (...command: string[]): boolean =>
  isRoot && spawnSync(SETPRIV, [...AS_UID, ...command]).status === 0;

const ownedFolder = async () => {
  const folder = await makeScratchFolder();
  await chown(folder.path, UID, UID);
  return folder;
};

const withoutEntry = suite('a uid without an entry in /etc/passwd');

withoutEntry('is refused in one line with a solution if user namespaces are denied', async () => {
  if (!canRun(process.execPath, '--version'))
    return console.log('Left out a refused start: only root can start it as another uid.');
  await using folder = await ownedFolder();
  const bin = folder.join('bin');
  await mkdir(bin);
  const script = '#!/bin/sh\necho "unshare: unshare failed: Operation not permitted" >&2\nexit 1\n';
  await writeFile(`${bin}/unshare`, script, { mode: 0o755 });

  const settings = { DATA_DIR: folder.join('data'), PATH: `${bin}:${process.env.PATH}` };
  const { code, stderr } = await runCommand(['serve'], settings, undefined, { launcher: LAUNCHER });

  assert.is(code, 1);
  assert.match(stderr, new RegExp(`^uid ${UID} has no entry in /etc/passwd, .*\n$`));
  for (const way of ['as root', 'DATABASE_URL']) assert.match(stderr, way);
});

withoutEntry.run();
