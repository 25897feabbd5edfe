import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { linesOf } from '../../src/cli/failures.ts';

const failures = suite('failures of commands');

failures('name a full disk of the database, whichever database it is', () => {
  const message = 'could not write to file "pg_wal/xlogtemp.1": No space left on device';
  const error = Object.assign(new Error(message), { code: '53100' });

  assert.equal(linesOf(error), [
    `The database has no disk space left. Free space and try again (${message}).`,
  ]);
});

failures('have one line for a database that does not answer', () => {
  const error = Object.assign(new Error('the database system is starting up'), { code: '57P03' });

  assert.equal(linesOf(error), [
    'DATABASE_URL: the database cannot be used (the database system is starting up).',
  ]);
});

failures.run();
