import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const ROUNDS = 12;
const races = appSuite('concurrent writers');

type Race = { path: string; method: string; as: string[]; body: (name: string) => object };

const RACES: Race[] = [
  { path: '/jb/users/raced@acme.test/', method: 'PATCH', as: [ACME], body: (first_name) => ({ first_name }) },
  // A change of one superuser locks all of them.
  { path: '/jb/users/boss@acme.test/', method: 'PATCH', as: [ROOT], body: (first_name) => ({ first_name }) },
  { path: '/jb/clients/1/', method: 'PATCH', as: [ACME], body: (login_title) => ({ login_title }) },
  { path: `/jb/apps/${SALES}/`, method: 'PATCH', as: [ACME], body: (description) => ({ description }) },
  {
    path: '/jb/users/invitations/raced@x.test/',
    method: 'PATCH',
    as: [ACME],
    body: (name) => ({ extra: { name } }),
  },
  {
    path: '/hashr/saved_global_filters/raced/',
    method: 'PUT',
    as: [ADA],
    body: (name) => ({ stack_id: 'a0a91e46', hash: 'raced', name }),
  },
];

races.before(async ({ app }) => {
  await app.as(ACME).users.create({ email: 'raced@acme.test' });
  await app.as(ACME).users.create({ email: 'boss@acme.test' });
  await app.as(ROOT).roles.update({ email: 'boss@acme.test', is_superuser: true });
  await app.as(ACME).invitations.create({ items: [{ email: 'raced@x.test', client: 1 }] });
  await app.as(ADA).savedFilters.create({ stack_id: 'a0a91e46', hash: 'raced', name: 'Raced' });
});

const shown = (app: TestApp, { path, as }: Race) => app.send(`GET ${path}`, { as: as[0] ?? '' });
const write = (app: TestApp, { path, method, as, body }: Race, name: string, tag?: string) =>
  app.send(`${method} ${path}`, {
    as: as[0] ?? '',
    payload: body(name),
    headers: { ...(tag && { 'if-match': tag }) },
  });

const isWritten = ({ statusCode }: { statusCode: number }) => [200, 204].includes(statusCode);

for (const race of RACES)
  races(`at ${race.path}, one of several with an ETag succeeds, and none is lost unseen`, async ({ app }) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const readTag = async () => {
        app.clock.advance(1000);
        return String((await shown(app, race)).headers.etag);
      };
      const tag = await readTag();
      const names = ['a', 'b', 'c'].map((name) => `${name}${round}`);
      const responses = await Promise.all(names.map((name) => write(app, race, name, tag)));
      const [winner, ...others] = names.filter((_, n) => responses[n] && isWritten(responses[n]));
      const statuses = responses.map(({ statusCode }) => statusCode);
      assert.equal([others, statuses.filter((status) => status === 412).length], [[], 2], String(statuses));
      assert.match((await shown(app, race)).body, `"${winner}"`);

      const seen = await readTag();
      const [unconditional, conditional] = await Promise.all([
        write(app, race, `unconditional${round}`),
        write(app, race, `conditional${round}`, seen),
      ]);
      // The conditional write comes first or fails, so the unconditional one always remains.
      assert.ok(isWritten(unconditional), unconditional.body);
      assert.ok(isWritten(conditional) || conditional.statusCode === 412, conditional.body);
      assert.match((await shown(app, race)).body, `"unconditional${round}"`);
    }
  });

races.run();
