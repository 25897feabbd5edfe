import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { detailText, fieldLabel, hasWords } from '../../console/src/components/detail-words.ts';
import { appRouter } from '../../routers/index.ts';
import { EVENT_TYPES } from '../../src/services/audit/event-types.ts';
import { COUNTED } from '../../src/services/data-rights/erasures.ts';

const words = suite('the words of the audit trail');

/** Fields of inputs that name what is changed, or that guard the change. Their values are not recorded. */
const NOT_RECORDED = new Set([
  ...[
    'app_slug',
    'cells',
    'connection_id',
    'email',
    'ends',
    'expected',
    'group_id',
    'key',
    'token_id',
    'user_email',
  ],
]);

/** The fields of an input, within `optional` and the like. */
const fieldsOf = (schema: unknown): string[] => {
  const { shape, def } = Object(schema) as { shape?: object; def?: { innerType?: unknown; in?: unknown } };
  if (shape) return Object.keys(shape);
  return def ? [def.innerType, def.in].flatMap((inner) => (inner === undefined ? [] : fieldsOf(inner))) : [];
};

words('name each field that an event has', () => {
  const fields = EVENT_TYPES.flatMap(({ data }) => fieldsOf(data));

  assert.ok(fields.length > 50);
  assert.equal(
    [...new Set(fields)].filter((field) => !hasWords(field)),
    [],
  );
});

words('name each field that a procedure changes', () => {
  const procedures: Record<string, unknown> = appRouter._def.procedures;
  const changing = Object.entries(procedures).filter(([name]) => /\.(update|narrow)/.test(name));
  const inputsOf = (procedure: unknown): unknown[] => Object(Object(procedure)._def).inputs;
  const fields = changing.flatMap(([, procedure]) => inputsOf(procedure).flatMap(fieldsOf));

  assert.ok(changing.length > 15 && fields.length > 100);
  const missing = fields.filter((field) => !hasWords(field) && !NOT_RECORDED.has(field));
  assert.equal([...new Set(missing)], []);
});

words('name each kind of rows that an erasure counts', () => {
  assert.equal(
    COUNTED.filter((field) => !hasWords(field)),
    [],
  );
});

words('say switches as on and off, ends as dates, and lists as what was added and removed', () => {
  const labels = new Map([['sales123', 'Sales']]);
  const lineOf = (field: string, value: unknown) =>
    `${fieldLabel(field)}: ${detailText(field, value, labels)}`;

  assert.equal(
    [
      lineOf('is_requestable', { from: false, to: true }),
      lineOf('factor_policy', { from: 'off', to: 'required' }),
      lineOf('roles', { from: ['auditor'], to: ['help-desk'] }),
      lineOf('apps', { added: ['sales123'] }),
      lineOf('first_name', { from: null, to: null }),
      lineOf('label', { from: 'Sale', to: 'Sales' }),
    ],
    [
      'People may ask for it: on',
      'Second factor: off → required',
      'Roles: added help-desk; removed auditor',
      'Apps: added Sales',
      'First name: changed',
      'Name: Sale → Sales',
    ],
  );
  assert.match(
    lineOf('expires_at', { from: '2026-12-12T10:00:00.000Z', to: null }),
    /^Ends: 12 Dec 2026.* → no end$/,
  );
});

words.run();
