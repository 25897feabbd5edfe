import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { operationRows } from '../../src/services/audit/audit-trail.ts';
import { ACME, appSuite, ROOT } from '../support/test-app.ts';

const plans = appSuite('query plans of the operations of the audit trail');

type Plan = { 'Node Type': string; 'Relation Name'?: string; Plans?: Plan[] };

const nodesIn = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesIn)];

/** 200,000 entries: most are logins, every fortieth hour has an operation of 500. */
plans.before(async ({ app }) => {
  for (let first = 1; first < 200_000; first += 10_000)
    await sql`
    insert into audit_entries (occurred_at, action, actor_type, actor_id, actor_label, target_type, target_id, target_label,
      client_ids, request_id, details)
    select ${app.clock.now()}::timestamptz - n * interval '1 minute',
      case when n % 10 < 6 then 'login.session' when n % 10 < 8 then 'user.update' else 'user.change-apps' end,
      'user', n % 900 + 100, 'u' || n % 900 || '@x.test', 'user', (n % 900 + 100)::text, 'u' || n % 900 || '@x.test',
      array[n % 200 + 1], 'r' || n,
      case when n % 20000 < 500 then json_build_object('operation', 'operation-' || n / 20000) else '{}' end
    from generate_series(${first}::int, ${first + 9_999}::int) as n`.execute(app.db());
  await sql`analyze audit_entries`.execute(app.db());
});

const FILTERS: Record<string, { as?: string; filter: Parameters<typeof operationRows>[2] }> = {
  'no filter': { filter: {} },
  'one client': { as: ACME, filter: { client: 1 } },
  'one actor': { filter: { actor: 'u7@x.test' } },
  'several actions': { filter: { actions: ['user.update', 'user.change-apps'] } },
  'changes only': { filter: { kind: 'changes' } },
};

/** Pages of 8 kB. The lookups of all entries would read about 800,000. */
const MAX_PAGES = 10_000;

for (const [name, { as = ROOT, filter }] of Object.entries(FILTERS))
  plans(`read a page by indexes, with ${name}`, async ({ app }) => {
    const actor = await app.contextOf(as).findActor();
    assert.ok(actor);
    const { rows } = await operationRows(app.orm.em.fork(), actor, filter);
    const [explained] = await rows.limit(100).explain('json', sql`analyze, buffers`);
    const plan = explained?.['QUERY PLAN'][0].Plan;
    const pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];

    const scans = nodesIn(plan).filter((node) => node['Relation Name'] === 'audit_entries');
    assert.ok(scans.length >= 2);
    assert.equal(
      scans.filter((scan) => scan['Node Type'] === 'Seq Scan'),
      [],
    );
    assert.ok(pages < MAX_PAGES, `${pages} pages`);
  });

plans.run();
