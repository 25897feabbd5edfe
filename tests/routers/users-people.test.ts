import * as assert from 'uvu/assert';
import { UserOutput } from '../../routers/schemas/users.ts';
import { restEndpoints } from '../../src/http/rest/endpoints.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, ROOT } from '../support/test-app.ts';

const people = appSuite('users.people');

people('returns pages of the users of users.list, in the same order', async ({ app }) => {
  const root = app.as(ROOT);
  const listed = await root.users.list({ sort: '-email', limit: 5 });

  const first = await root.users.people({ sort: '-email', limit: 3 });
  const rest = await root.users.people({ sort: '-email', limit: 2, cursor: first.at(-1)?.email });

  assert.equal(
    [...first, ...rest].map(({ email }) => email),
    listed.map(({ email }) => email),
  );
});

people('returns only the users whom a client admin sees', async ({ app }) => {
  const seen = await app.as(ACME).users.people({});

  assert.equal(
    seen.map(({ email }) => email),
    (await app.as(ACME).users.list({})).map(({ email }) => email),
  );
});

people('is refused to members', async ({ app }) => {
  await rejectsWith(app.as(ADA).users.people({}), 'forbidden');
});

people('has no REST path, and its fields are not those of the REST interface', async ({ app }) => {
  const [person] = await app.as(ROOT).users.people({ limit: 1 });

  assert.not(restEndpoints().some(({ procedure }) => procedure === 'users.people'));
  assert.not.equal(Object.keys(person ?? {}), Object.keys(UserOutput.shape));
});

people.run();
