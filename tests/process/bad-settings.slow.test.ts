import { chmod, readdir, writeFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { assertRefused, runCommand } from '../support/service-process.ts';

const SECRET_KEY = 'a secret key that only tests ever use';

const settings = suite('settings');

settings('are refused all at once, one line each, without their values', async () => {
  const bad = {
    PORT: 'port-value',
    BASE_URL: 'ftp://base-value',
    DATABASE_URL: 'postgres://user:database-value@host:99999999/',
    SECRET_KEY: 'key-value',
    ADMIN_EMAIL: 'email-value',
    ADMIN_PASSWORD: 'pw-valu',
    DEMO: 'demo-value',
    DEMO_PASSWORD: 'dpw-val',
    TOKEN_IDLE_DAYS: 'idle-value',
    INVITATION_DAYS: '0',
    ARGON2_CONCURRENCY: '65',
    APP_STORE: 'ftp://store-value',
    APP_STORE_ENDPOINT: 'ftp://endpoint-value',
    APP_STORE_REGION: 'region value',
    APP_STORE_PATH_STYLE: 'style-value',
    LOG_LEVEL: 'level-value',
    LOG_FORMAT: 'format-value',
  };

  const outcome = await runCommand(['serve'], bad);

  assertRefused(outcome, Object.keys(bad).length, 2);
  for (const name of Object.keys(bad))
    assert.match(outcome.stderr, new RegExp(`^Invalid setting ${name}: `, 'm'));
  assert.not.match(outcome.stderr, /-valu?/);
});

settings('require a secret key with an external database', async () => {
  const outcome = await runCommand(['migrate'], { DATABASE_URL: 'postgres://u:hidden@localhost/x' });

  assertRefused(outcome, 1, 2);
  assert.is(outcome.stderr, 'Invalid setting SECRET_KEY: is required with DATABASE_URL\n');
});

for (const [what, url] of [
  ['refuses the connection', 'postgres://u:hidden@127.0.0.1:1/x'],
  ['has no such socket', 'postgres://u:hidden@localhost/x?host=/nowhere'],
  ['has no address', 'postgres://u:hidden@host.invalid/x'],
] as const) {
  settings(`name DATABASE_URL if the host ${what}`, async () => {
    const outcome = await runCommand(['migrate'], { DATABASE_URL: url, SECRET_KEY });

    assertRefused(outcome, 1);
    assert.match(outcome.stderr, /^DATABASE_URL: the database cannot be used \(.+\)\.( Check .+\.)?\n$/);
    assert.not.match(outcome.stderr, /hidden|E[A-Z]{5,}/);
  });
}

settings('name the folder if DATA_DIR is a file or cannot be created', async () => {
  await using folder = await makeScratchFolder();
  await writeFile(folder.join('file'), '');
  for (const DATA_DIR of [folder.join('file'), '/proc/nope']) {
    const outcome = await runCommand(['migrate'], { DATA_DIR });

    assertRefused(outcome, 1);
    assert.match(outcome.stderr, DATA_DIR);
  }
});

settings(
  'are refused with a secret-key file that others can write, without leaving a database running',
  async () => {
    await using folder = await makeScratchFolder();
    await writeFile(folder.join('secret-key'), 'k'.repeat(64));
    await chmod(folder.join('secret-key'), 0o666);

    const outcome = await runCommand(['serve'], { DATA_DIR: folder.path });

    assertRefused(outcome, 1);
    assert.match(outcome.stderr, `${folder.join('secret-key')} has mode 0666`);
    assert.not((await readdir(folder.path)).includes('postgres'));
  },
);

settings.run();
