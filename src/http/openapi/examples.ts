import { COMPONENTS_PREFIX, type JsonSchema } from './json-schemas.ts';

const NOW = '2026-11-21T12:00:00.000Z';
const APP = 'zylTKNVx';
const STACK = 'a0a91e46';
const ADA = 'ada@acme.test';
const GUEST = 'guest@acme.test';
const NEW_PASSWORD = 'a longer one, of words';

/**
 * Values by field name, for fields that several schemas share; other fields state theirs with `meta({ examples })`. The values exist in the
 * demo workspace, so that "Test Request" in the reference works.
 */
export const FIELD_EXAMPLES: Readonly<Record<string, unknown>> = {
  id: 1,
  email: ADA,
  username: ADA,
  confirm_email: ADA,
  confirmation: '1795264800000.aAUIAwQm-ava0n3CfbIEgG-6ouMt417mY_g-YR6s7-s',
  password: 'steward-demo-1',
  new_password: NEW_PASSWORD,
  token: '9c1f0a7be54d2c86a3f90b7715de48c2a6b0f3d1',
  secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
  otpauth_url:
    'otpauth://totp/Acme%20Analytics:ada%40acme.test?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Acme%20Analytics',
  recovery_codes: ['k7qd-3m2x-wz5a-h4pt', 'u6ye-c2rs-7fjn-b5ov'],
  first_name: 'Ada',
  last_name: 'Lovelace',
  full_name: 'Ada Lovelace',
  is_active: true,
  apps: [APP],
  last_address: '127.0.0.1',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
  rule: 'min_length',
  message: 'At least 8 characters.',
  name: 'Acme Analytics',
  domain: 'localhost:8000',
  client_name: 'Acme Analytics',
  support_email: 'help@acme.test',
  home_location: '/',
  initial_apps: [APP],
  key: 'dxNMN7-sm07-U8kguMulzsRDsgp2Kdav',
  url: 'http://localhost:8000/invitation/dxNMN7-sm07-U8kguMulzsRDsgp2Kdav/?signature=aAUIAwQm',
  expires_at: '2026-12-05T12:00:00.000Z',
  closed_at: null,
  app_id: APP,
  app_slug: 'sales',
  slug: 'sales',
  label: 'Sales',
  description: 'Revenue by region and product.',
  version: '1.1.0',
  package_info: { slug: 'sales', version: '1.1.0', loaded_at: NOW },
  action: 'STACK_ACCESS',
  stack: STACK,
  stack_id: STACK,
  next_cursor: '1795262100000.1',
  day: '2026-11-20',
  last_used_day: '2026-08-02',
  hash: 'spring',
  subject: "You've been invited to Acme Analytics",
  last_error: null,
  text: 'Hello,\n\nYou have been invited to Acme Analytics.\n',
  html: '<!doctype html>\n<p>You have been invited to Acme Analytics.</p>\n',
  actor: 'admin@acme.test',
  details: { first_name: { from: 'Ada', to: 'Augusta' } },
  address: '127.0.0.1',
};

const guest = { email: GUEST, extra: { team: 'north' } };

const FILTER_STATE = { state: { region: ['north'] }, version: '2', description: 'Northern regions' };

const OPERATION = '3b241101-e2bb-4255-8caf-4136c566a962';
const rowProblem = { code: 'changed-since', detail: 'It was changed again after the operation.' };

/** Values for single components of responses, including optional fields. */
const COMPONENT_EXAMPLES: Readonly<Record<string, object>> = {
  TokensCreateNamedResponse: { name: 'Nightly export' },
  Token: { name: 'Nightly export', is_current: true },
  Session: { is_current: true },
  SecondFactor: { name: 'Phone' },
  SecondFactors: { recovery_codes: 10 },
  ClientInvitation: guest,
  RowProblem: rowProblem,
  BulkRow: { problem: null },
  BulkResult: { operation: OPERATION, next_cursor: null },
  InvitationsBulkRow: { problem: null },
  InvitationsBulkResult: { results: [{ id: 17, status: 'ok', problem: null }] },
  Undo: { operation: OPERATION, skipped: [], is_finished: true },
  AccessMatrix: {
    apps: [{ id: APP, slug: 'sales', label: 'Sales', in_maintenance: false, is_requestable: true }],
    next_cursor: null,
  },
  AccessGroup: { name: 'Finance' },
  AccessPath: { role: null, group: null, reason: 'Year-end closing' },
  AccessExplanation: { allowed: true, blockers: [] },
  AccessRequest: {
    version: 1,
    app: APP,
    app_label: 'Sales',
    reason: 'Year-end closing',
    days: 14,
    decided_at: null,
    decided_by: null,
    expires_at: null,
    can_decide: true,
  },
  Grant: { reason: 'Year-end closing' },
  MembershipRemoval: { groups: ['Finance'], access_views: 0 },
  OffboardingPreview: { groups: ['Finance'], roles: [] },
  AppRemoval: { name: 'Sales' },
  ClientRemoval: { apps: 2 },
  EffectiveAccess: { role: null, groups: ['Finance'], reason: null, granted_by: null },
  Group: { name: 'Finance' },
  GroupDetail: { name: 'Finance', members: [ADA] },
  AccessChange: { operation: OPERATION },
  Invitation: { ...guest, is_demo_user: 'false' },
  InvitationDetails: { ...guest, is_demo_user: 'false' },
  InvitationPage: { email: GUEST, apps: ['Sales'] },
  AppStack: { id: STACK, slug: 'overview', label: 'Overview' },
  AppVersion: { is_current: true, is_staged: true },
  AppsRollbackResponse: { message: 'Rolled back sales to version 1.0.0' },
  UsageEntry: {
    extra: { app: 'sales', stack: STACK, app_id: APP, request: { path: '/apps/sales/overview/', META: {} } },
  },
  UsageTopAppsResponse: { apps: [{ id: APP, client: 1, slug: 'sales', label: 'Sales', actions: 1204 }] },
  SavedFilter: { user: ADA, stack: 'Overview for Sales App', name: 'Spring' },
  SavedFilterState: FILTER_STATE,
  SavedFilterSharing: { groups: [1] },
  SharedFilter: { ...FILTER_STATE, user: ADA, name: 'Spring' },
  StackDefault: { group: null },
  AuditEntry: { action: 'user.update' },
  TimelineEntry: { id: 'mail-1' },
  TimelineInvitation: { inviter: 'admin@acme.test' },
  UserGrant: { app: APP, granted_by: 'admin@acme.test' },
};

const TYPE_EXAMPLES: Record<string, unknown> = { string: '', integer: 1, boolean: false, object: {} };

/** The keywords that the schemas of components use. */
type Schema = {
  $ref?: string;
  type?: string | string[];
  format?: string;
  const?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
};

/**
 * Returns the components, each with an example of its required fields.
 * @param inputExamples further fields, by component
 */
export const withExamples = (
  components: Record<string, JsonSchema>,
  inputExamples: Readonly<Record<string, object | undefined>>,
): Record<string, JsonSchema> => {
  const exampleOf = (schema: Schema, field = ''): unknown => {
    if (schema.const !== undefined) return schema.const;
    if (schema.examples) return schema.examples[0];
    const { $ref, anyOf, enum: values, items, properties = {}, required } = schema;
    // Ids of type string are ids of apps.
    if (field === 'id' && schema.type === 'string') return APP;
    if (field in FIELD_EXAMPLES && items?.$ref === undefined) return FIELD_EXAMPLES[field];
    if ($ref !== undefined) return componentExample($ref.slice(COMPONENTS_PREFIX.length));
    if (anyOf?.[0]) return exampleOf(anyOf[0]);
    if (values) return values[0];
    if (items) return [exampleOf(items)];
    if (required)
      return Object.fromEntries(required.map((key) => [key, exampleOf(properties[key] ?? {}, key)]));
    return schema.format === 'date-time' ? NOW : TYPE_EXAMPLES[[schema.type].flat()[0] ?? ''];
  };
  const componentExample = (name: string): object => ({
    ...(exampleOf(components[name] as Schema) as object), // a component is an object
    ...COMPONENT_EXAMPLES[name],
    ...inputExamples[name],
  });
  return Object.fromEntries(
    Object.entries(components).map(([name, schema]) => [
      name,
      { ...schema, examples: [componentExample(name)] },
    ]),
  );
};
