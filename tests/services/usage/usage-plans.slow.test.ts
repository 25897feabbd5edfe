import { type SelectQueryBuilder, sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { adminOf, MEMBER } from '../../../src/services/access/permissions.ts';
import { EVERYWHERE } from '../../../src/services/access/scope.ts';
import { VIEWS_ALL } from '../../../src/services/access/visibility.ts';
import { appRows } from '../../../src/services/apps/app-rows.ts';
import { usageWindows } from '../../../src/services/apps/usage-windows.ts';
import { type UsageFilter, usageRows } from '../../../src/services/usage/usage.ts';
import { appSuite, type TestApp } from '../../support/test-app.ts';
import { NOON } from '../../support/time.ts';
import { SALES } from '../../support/usage.ts';

const plans = appSuite('query plans of usage');

type Plan = { 'Node Type': string; 'Relation Name'?: string; 'Index Name'?: string; Plans?: Plan[] };
type Scan = { table: string; how: string; index: string | undefined };

const scansIn = (plan: Plan): Scan[] => [
  ...(plan['Relation Name']
    ? [{ table: plan['Relation Name'], how: plan['Node Type'], index: plan['Index Name'] }]
    : []),
  ...(plan.Plans ?? []).flatMap(scansIn),
];

/** The scans in the plan of a query. */
const scansOf = async <T>(query: SelectQueryBuilder<never, never, T>): Promise<Scan[]> => {
  const [row] = await query.explain<{ 'QUERY PLAN': { Plan: Plan }[] }>('json');
  const plan = row?.['QUERY PLAN'][0]?.Plan;
  assert.ok(plan);
  return scansIn(plan);
};
const logScans = async (app: TestApp, filter: UsageFilter, limit = 1_000): Promise<Scan[]> => {
  const query = usageRows(app.orm.em.fork(), filter).limit(limit);
  return scansOf(query as unknown as SelectQueryBuilder<never, never, unknown>); // only explained
};
const KEY = /_pkey$/;
const BY_PERSON = /_app_id_user_id_occurred_at_id_idx$/;
const BY_USER = /^usage_entries_\d{4}_\d\d_user_id_occurred_at_id_idx$/;
const BY_EMAIL = /^usage_entries_\d{4}_\d\d_email_occurred_at_id_idx$/;
const ACME_ADMIN = { ...adminOf(1), id: 1, scope: EVERYWHERE };
const since = (days: number) => new Date(NOON.getTime() - days * DAY_MS);

/** Adds enough rows of other apps and people that a sequential scan would be a bad plan. */
plans.before(async ({ app }) => {
  await sql`
    insert into usage_entries (app_id, user_id, email, action, occurred_at)
    select 'other' || lpad((n % 40)::text, 3, '0'), n % 500, 'u' || n % 500 || '@x.test', 'X',
      ${NOON}::timestamptz - n * interval '4 minutes'
    from generate_series(1, 47000) as n`.execute(app.db());
  await sql`analyze usage_entries`.execute(app.db());
});

const PERSON = { userId: 7 };

const documented: Record<string, { filter: UsageFilter; limit?: number; index: RegExp; months: number }> = {
  'the last 30 days of an app': { filter: { appId: SALES, since: since(30) }, index: KEY, months: 2 },
  'a later page of them': {
    filter: { appId: SALES, since: since(30), cursor: { occurredAt: since(3), id: 7 } },
    index: KEY,
    months: 2,
  },
  'ten years of an app': { filter: { appId: SALES, since: since(3650) }, index: KEY, months: 5 },
  'what a user did last': {
    filter: { appId: SALES, person: PERSON },
    limit: 1,
    index: BY_PERSON,
    months: 5,
  },
  'a window of a user': {
    filter: { appId: SALES, person: PERSON, since: since(30) },
    index: BY_PERSON,
    months: 2,
  },
  'a window of a user in all apps': {
    filter: { person: PERSON, viewer: VIEWS_ALL, since: since(30) },
    index: BY_USER,
    months: 2,
  },
  'a later page of it, in the apps of a client': {
    filter: {
      person: { email: 'u7@x.test' },
      viewer: ACME_ADMIN,
      since: since(3650),
      cursor: { occurredAt: since(3), id: 7 },
    },
    index: BY_EMAIL,
    months: 5,
  },
};

for (const [name, { filter, limit, index, months }] of Object.entries(documented)) {
  plans(`find ${name} by index, in the partitions of the requested months only`, async ({ app }) => {
    const scans = (await logScans(app, filter, limit)).filter(({ table }) => table !== 'apps');

    assert.ok(scans.length >= 1 && scans.length <= months + 2, JSON.stringify(scans));
    for (const scan of scans) {
      assert.match(scan.how, /^(Index Scan|Index Only Scan|Bitmap Index Scan|Bitmap Heap Scan)$/, scan.table);
      if (scan.index) assert.match(scan.index, index);
    }
  });
}

plans('list apps and their windows without the log', async ({ app }) => {
  const actor = { ...MEMBER, id: 1, email: '', isSuperuser: true, credential: null, scope: EVERYWHERE };
  const query = appRows(app.orm.em.fork(), actor, app.clock.now())
    .leftJoin('usage_windows', 'usage_windows.app_id', 'apps.id')
    .select(usageWindows(sql`true`).as('usage'));
  const scans = await scansOf(query as unknown as SelectQueryBuilder<never, never, unknown>); // only explained

  assert.equal([...new Set(scans.map(({ table }) => table))].sort(), ['apps', 'usage_windows']);
});

plans.run();
