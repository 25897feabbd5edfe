import { readdir } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runChecks } from '../../src/doctor/run-checks.ts';
import { makeScratchFolder } from '../support/files.ts';

const folders = suite('steward doctor: folders');

const examine = async (dataDir: string) => {
  const findings = await runChecks({ DATA_DIR: dataDir, APP_STORE: `file:${dataDir}/packages` });
  return {
    statuses: Object.fromEntries(findings.map(({ check, status }) => [check, status])),
    text: JSON.stringify(findings),
  };
};

folders('that can be created are fine, and stay as they are', async () => {
  await using scratch = await makeScratchFolder();

  const { statuses, text } = await examine(scratch.join('data'));

  assert.not.equal(statuses['data folder'], 'failure');
  assert.is(statuses['package store'], 'ok');
  assert.match(text, 'The first start creates');
  assert.equal(await readdir(scratch.path), []);
});

folders('that cannot be created are reported, also to root', async () => {
  const { statuses, text } = await examine('/proc/steward');

  assert.is(statuses['data folder'], 'failure');
  assert.is(statuses['package store'], 'warning');
  assert.not.match(text, 'The first start creates');
});

folders('below a file are no reason to report a bug', async () => {
  const { statuses, text } = await examine('/etc/passwd/steward');

  assert.is(statuses['data folder'], 'failure');
  assert.not.match(text, 'Report this message');
});

folders.run();
