import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createStatementSummary } from '../../src/adapters/opentelemetry/start-tracing.ts';

const summarize = createStatementSummary(new Set(['users', 'api_tokens', 'audit_entries']));
const summary = suite('summary of statements');

const NAMES: [statement: string, name: string][] = [
  ['select "u0".* from "users" as "u0" where "u0"."email" = \'a@b.test\'', 'SELECT users'],
  ["select 'x from secret' from users join api_tokens on true", 'SELECT users api_tokens'],
  ['insert into "users" (email) values (\'update hidden\')', 'INSERT users'],
  ['update users set email = $1', 'UPDATE users'],
  ['delete from api_tokens', 'DELETE api_tokens'],
  [
    'with due as (select 1 from users) insert into audit_entries select 1 from due',
    'WITH users audit_entries',
  ],
  ['begin; set local plan_cache_mode = force_generic_plan', 'BEGIN'],
  ["select pg_notify('x', 'from secrets')", 'SELECT'],
  ['', 'EMPTY'],
  ["'secret'", 'EMPTY'],
];

for (const [statement, name] of NAMES)
  summary(`turns ${JSON.stringify(statement)} into ${name}`, () => {
    assert.is(summarize([statement]).name, name);
  });

summary('names the operation and the table of one statement, and the number of several', () => {
  const one = summarize(['select 1 from users']);
  const several = summarize(Array.from({ length: 5 }, () => 'select 1 from users'));

  assert.is(one.attributes?.['db.collection.name'], 'users');
  assert.is(one.attributes?.['db.operation.name'], 'SELECT');
  assert.is(several.attributes?.['db.operation.batch.size'], 5);
  assert.is(several.name, 'SELECT users; SELECT users; SELECT users; …');
});

summary.run();
