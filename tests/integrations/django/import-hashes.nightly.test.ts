import * as assert from 'uvu/assert';
import { importSuite } from '../../fixtures/django/import-suite.ts';
import { djangoUser } from '../../fixtures/django/records.ts';

const imports = importSuite('password hashes of imported users');

imports('refuses a hash that cannot be verified, or skips it if asked', async ({ database }) => {
  const dump = [
    djangoUser('md5@example.org', { password: 'md5$salt$d41d8cd98f00b204e9800998ecf8427e' }),
    djangoUser('dear@example.org', { password: `pbkdf2_sha256$1000000000$salt$${'A'.repeat(43)}=` }),
    djangoUser('good@example.org'),
  ];

  const refused = await database.importDump(dump);
  const accepted = await database.importDump(dump, { resetsUnsupported: true });

  assert.equal([refused.totals.imported, refused.totals.faulty], [0, 2]);
  assert.equal(
    refused.remarks.map(({ position, outcome, field, message }) => [position, outcome, field, message]),
    [
      [1, 'faulty', 'password', 'This format cannot be verified.'],
      [2, 'faulty', 'password', 'Would make each login too expensive: more than 10,000,000 iterations.'],
    ],
  );
  assert.equal([accepted.totals.imported, accepted.totals.passwordless], [3, 3]);
  assert.equal(
    accepted.remarks.map(({ position, outcome, field }) => [position, outcome, field]),
    [
      [1, 'imported', 'password'],
      [2, 'imported', 'password'],
    ],
  );
  assert.not.ok(JSON.stringify([refused, accepted]).includes('d41d8'));
  assert.equal(
    (await database.users()).map((user) => user.password_hash),
    [null, null, null],
  );
});

imports.run();
