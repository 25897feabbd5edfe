import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, runCommand } from '../support/service-process.ts';

const SECRET_KEY = 'a secret key that only tests ever use';

const settings = suite('settings');

settings('are refused all at once, one line each, without their values', async () => {
  const bad = {
    PORT: 'port-value',
    DATABASE_URL: 'postgres://user:database-value@host:99999999/',
    SECRET_KEY: 'key-value',
    LOG_LEVEL: 'level-value',
  };

  const outcome = await runCommand(['serve'], bad);

  assertRefused(outcome, Object.keys(bad).length, 2);
  for (const name of Object.keys(bad))
    assert.match(outcome.stderr, new RegExp(`^Invalid setting ${name}: `, 'm'));
  assert.not.match(outcome.stderr, /-valu?/);
});

settings('name DATABASE_URL if no server listens there', async () => {
  const DATABASE_URL = 'postgres://u:hidden@127.0.0.1:1/x';
  const outcome = await runCommand(['migrate'], { DATABASE_URL, SECRET_KEY });

  assertRefused(outcome, 1);
  assert.match(outcome.stderr, /^DATABASE_URL: the database cannot be used \(.+\)\.( Check .+\.)?\n$/);
  assert.not.match(outcome.stderr, /hidden|E[A-Z]{5,}/);
});

settings.run();
