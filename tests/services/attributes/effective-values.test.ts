import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AttributeSchema, schemaOf } from '../../../src/services/attributes/attribute-schema.ts';
import { effectiveValues, type Given } from '../../../src/services/attributes/effective-values.ts';

const NOTHING: Given = { groups: [], claims: null, membership: null, grant: null, view: null };

const compiled = (schema: object) => schemaOf(JSON.stringify(AttributeSchema.parse(schema)));

const REGION = { type: 'array', items: { enum: ['North', 'South'] } };
const APP = compiled({
  properties: { region: REGION, level: { type: 'integer', minimum: 1 } },
  required: ['region'],
});

const outcomeOf = (given: Partial<Given>, client = compiled({ properties: {} })) =>
  effectiveValues({ app: APP, client }, { ...NOTHING, ...given }, ['region', 'level']);

const faultsOf = (given: Partial<Given>): string[] =>
  outcomeOf(given).faults.map(({ key, message }) => `${key} ${message}`);

const values = suite('effective values');

values('are those of the last layer that has one', () => {
  const of = (region: string) => ({ region: [region] });
  const given: Partial<Given> = { groups: [{ name: 'a', values: of('North') }] };
  const seen = (more: Partial<Given>) => {
    const [region] = outcomeOf(Object.assign(given, more)).attributes;
    return [region?.value, region?.overrides.length];
  };

  assert.equal(seen({}), [['North'], 0]);
  assert.equal(seen({ claims: of('South') }), [['South'], 1]);
  assert.equal(seen({ membership: of('North') }), [['North'], 2]);
  assert.equal(seen({ grant: of('South') }), [['South'], 3]);
});

values('of groups: lists are united, other values are those of the first group', () => {
  const groups = [
    { name: 'a', values: { region: ['North'], level: 3 } },
    { name: 'b', values: { region: ['South', 'North'], level: 9 } },
  ];
  const { values: found, attributes } = outcomeOf({ groups });

  assert.equal(found, { region: ['North', 'South'], level: 3 });
  assert.equal(attributes.find(({ key }) => key === 'level')?.sources, [{ from: 'group', name: 'a' }]);
});

values('of an access view replace all but the defaults', () => {
  const client = compiled({ properties: { level: { type: 'integer', default: 2 } } });
  const given = { membership: { region: ['North'], level: 7 }, view: { region: ['South'] } };

  assert.equal(outcomeOf(given, client).values, { region: ['South'], level: 2 });
});

values('have faults if they are missing, of a wrong type, not allowed, unknown or null', () => {
  assert.equal(faultsOf({}), ['region is required']);
  assert.equal(faultsOf({ membership: { region: 'North' } }), ['region must be array']);
  assert.equal(faultsOf({ membership: { region: ['Nroth'] } }), [
    'region must be one of North, South (item 1)',
  ]);
  assert.equal(faultsOf({ membership: { region: null } }), ['region must be array']);
  assert.equal(faultsOf({ membership: { region: [], regoin: ['North'] } }), [
    'regoin is not an attribute of this client or its apps',
  ]);
});

values('keep each digit of integers beyond 2⁵³', () => {
  const app = compiled({ properties: { account: { enum: [9007199254740993n] } } });
  const check = (account: unknown) =>
    effectiveValues({ app, client: null }, { ...NOTHING, membership: { account } }, ['account']).faults
      .length;

  assert.is(check(9007199254740993n), 0);
  assert.is(check(9007199254740992n), 1);
  assert.is(check(9007199254740992), 1);
});

values('take what the client lists, if the package says so', () => {
  const app = compiled({ properties: { team: { type: 'string', 'x-steward': { values_from: 'client' } } } });
  const check = (client: object, team: string) =>
    effectiveValues({ app, client: compiled(client) }, { ...NOTHING, membership: { team } }, ['team']).faults
      .length;

  assert.is(check({ properties: { team: { enum: ['red'] } } }, 'red'), 0);
  assert.is(check({ properties: { team: { enum: ['red'] } } }, 'blue'), 1);
  assert.is(check({ properties: {} }, 'red'), 1);
  assert.is(check({ properties: { team: { type: 'string' } } }, 'red'), 1);
});

values('are no properties that every object has', () => {
  const app = compiled({ properties: { constructor: {} }, required: ['constructor'] });

  assert.is(effectiveValues({ app, client: null }, NOTHING, ['constructor']).faults.length, 1);
});

values('of more than 1,000 items are a fault, without a check of each', () => {
  const region = Array.from({ length: 30_000 }, () => 'Nroth');

  assert.equal(faultsOf({ membership: { region } }), ['region has more than 1000 values']);
});

const schemas = suite('schemas of attributes');

schemas('refuse what a check could not rely on', () => {
  const refused = [
    { properties: { region: { type: 'array', itemz: {} } } },
    { properties: { region: { type: 'strng' } } },
    { properties: { region: { type: 'string', pattern: '(a+)+$' } } },
    { properties: { region: { $ref: '#' } } },
    { properties: { region: { type: 'array', uniqueItems: true } } },
    { properties: { region: { type: 'string' } }, required: ['regoin'] },
    { properties: { region: { type: 'string', default: 3 } } },
    { properties: { 'no key': {} } },
    { properties: {}, additionalProperties: true },
    { title: 'a\0b', properties: {} },
    { properties: { code: { enum: Array.from({ length: 1_001 }, (_, index) => index) } } },
    { properties: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`a${index}`, {}])) },
  ];
  for (const schema of refused)
    assert.is(AttributeSchema.safeParse(schema).success, false, JSON.stringify(schema));
});

values.run();
schemas.run();
