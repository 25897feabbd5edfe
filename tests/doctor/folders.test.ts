import { readdir } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runChecks } from '../../src/doctor/run-checks.ts';
import { makeScratchFolder } from '../support/files.ts';

const folders = suite('steward doctor: folders');

const statusesFor = async (dataDir: string) => {
  const findings = await runChecks({ DATA_DIR: dataDir, APP_STORE: `file:${dataDir}/packages` });
  return Object.fromEntries(findings.map(({ check, status }) => [check, status]));
};

folders('that can be created are fine, and stay as they are', async () => {
  await using scratch = await makeScratchFolder();

  const statuses = await statusesFor(scratch.join('data'));

  assert.not.equal(statuses['data folder'], 'failure');
  assert.is(statuses['package store'], 'ok');
  assert.equal(await readdir(scratch.path), []);
});

folders('that cannot be created are reported, also to root', async () => {
  const statuses = await statusesFor('/proc/steward');

  assert.is(statuses['data folder'], 'failure');
  assert.is(statuses['package store'], 'warning');
});

folders.run();
