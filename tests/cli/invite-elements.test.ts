import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createElementReader, sortByEmail } from '../../src/cli/invite-people.ts';
import type { Column, CsvRow } from '../../src/services/invitations/invitation-csv.ts';

const APPS = new Map([
  ['sales', 'zylTKNVx'],
  ['churn', 'Qm3vR8pa'],
  ['zylTKNVx', 'zylTKNVx'],
]);

const rowOf = (cells: Partial<Record<Column, string>>, line = 2): CsvRow => ({
  line,
  cells: {
    email: 'eve@acme.test',
    first_name: '',
    last_name: '',
    client: '',
    apps: '',
    is_demo_user: '',
    extra: '',
    ...cells,
  },
});
const elementOf = (cells: Partial<Record<Column, string>>) => createElementReader(1, APPS)(rowOf(cells));

const elements = suite('elementReader');

elements('omits fields whose cells are empty', () => {
  const { value, faults } = elementOf({});

  assert.equal(faults, {});
  assert.equal(value, {
    email: 'eve@acme.test',
    first_name: undefined,
    last_name: undefined,
    client: 1,
    initial_apps: [],
    is_demo_user: undefined,
    extra: undefined,
  });
});

elements('treats both forms of an internationalized domain as the same address', () => {
  const rows = sortByEmail([
    rowOf({ email: 'eve@bücher.example' }, 2),
    rowOf({ email: 'Eve@xn--bcher-kva.example' }, 3),
  ]);
  const [first, second] = rows.map(createElementReader(1, APPS));

  assert.is(first?.value?.email, 'eve@xn--bcher-kva.example');
  assert.equal(second?.faults, { email: ['Line 2 already invites this address.'] });
});

elements('reads every cell', () => {
  const { value } = elementOf({
    email: 'Eve@Acme.test',
    first_name: 'Eve',
    last_name: 'Moneypenny',
    apps: 'churn; zylTKNVx,sales',
    is_demo_user: 'TRUE',
    extra: '{"team": {"id": 7}}',
  });

  assert.equal(value, {
    email: 'eve@acme.test',
    first_name: 'Eve',
    last_name: 'Moneypenny',
    client: 1,
    initial_apps: ['Qm3vR8pa', 'zylTKNVx'],
    is_demo_user: true,
    extra: { team: { id: 7 } },
  });
});

elements('keeps a key such as __proto__ as plain data', () => {
  const { value } = elementOf({ extra: '{"__proto__": {"a": 1}}' });

  assert.is(JSON.stringify(value?.extra), '{"__proto__":{"a":1}}');
});

elements('keeps every digit of integers in extra', () => {
  const { value } = elementOf({ extra: '{"tenant": 1546130668394913822}' });

  assert.equal(value?.extra, { tenant: 1546130668394913822n });
});

for (const [column, cell, message] of [
  ['email', '', 'This field is required.'],
  ['email', 'eve', 'Must be an email address.'],
  ['email', `${'e'.repeat(250)}@acme.test`, 'Must have at most 254 characters.'],
  ['apps', 'sales fleet', 'This client has no app fleet.'],
  ['is_demo_user', 'yes', 'Must be "true" or "false".'],
  ['extra', 'team', 'Must be a JSON object, such as {"team": "sales"}.'],
  ['extra', '[]', 'Must be an object.'],
  ['extra', `{"a": "${'x'.repeat(65_536)}"}`, 'Must not be larger than 64 KiB.'],
] as const) {
  elements(`refuses ${column} ${JSON.stringify(cell.slice(0, 20))}`, () => {
    assert.equal(elementOf({ [column]: cell }).faults, { [column]: [message] });
  });
}

elements('reports every error of a row, and returns the valid fields', () => {
  const { value, faults } = elementOf({ apps: 'fleet sales', is_demo_user: '1', extra: '1' });

  assert.equal(Object.keys(faults).toSorted(), ['apps', 'extra', 'is_demo_user']);
  assert.equal([value?.email, value?.initial_apps], ['eve@acme.test', ['zylTKNVx']]);
});

elements('reports ten unknown apps of a row that names thousands', () => {
  const { faults } = elementOf({
    apps: Array.from({ length: 5000 }, (_, index) => `app-${index}`).join(' '),
  });

  assert.is(faults.apps?.length, 10);
});

elements('names the line that already has the address, ignoring case', () => {
  const rows = ['b@x.test', 'A@x.test', 'B@X.test', 'a@x.test', 'B@x.test'];
  const read = createElementReader(1, APPS);

  const messages = sortByEmail(rows.map((email, index) => rowOf({ email }, index + 2)))
    .map((row) => [row.line, read(row).faults.email?.[0]] as const)
    .toSorted(([a], [b]) => a - b);

  assert.equal(messages, [
    [2, undefined],
    [3, undefined],
    [4, 'Line 2 already invites this address.'],
    [5, 'Line 3 already invites this address.'],
    [6, 'Line 2 already invites this address.'],
  ]);
});

elements.run();
