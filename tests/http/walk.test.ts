import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../src/demo/packages.ts';
import { ACME, ADA, DEMO_PASSWORD, ROOT, STAFF, startTestApp, type TestApp } from '../support/test-app.ts';
import { fieldsOf, SHAPES, type ShapeName } from './documented-shapes.ts';

/**
 * Every row of every endpoint table of the interface document, in its order. A row says who sends what, and
 * which status and shape must come back; an array shape is written `[Shape]`.
 */
type Row = {
  line: string;
  as?: string;
  body?: unknown;
  status: number;
  shape?: ShapeName | `[${ShapeName}]`;
};

const ROWS: Row[] = [
  // Token
  {
    line: 'POST /api-token-auth/',
    body: { username: ADA, password: DEMO_PASSWORD },
    status: 200,
    shape: 'Token',
  },

  // Sites
  { line: 'GET /jb/sites/', as: ADA, status: 200, shape: '[Site]' },
  { line: 'GET /jb/sites/1/', as: ADA, status: 200, shape: 'Site' },

  // Clients
  { line: 'GET /jb/clients/', as: ACME, status: 200, shape: '[Client]' },
  { line: 'GET /jb/clients/1/', as: ACME, status: 200, shape: 'Client' },
  {
    line: 'PATCH /jb/clients/1/',
    as: ACME,
    body: {
      name: 'Acme Insight',
      default_from_email: 'no-reply@acme.test',
      invitation_subject: 'Come in',
      invitation_body: 'We look forward to you.',
      login_title: 'Acme',
      login_subtitle: 'Good morning',
      support_email: 'support@acme.test',
      home_location: '/apps/',
      subtitle_404: 'Lost?',
      message_404: '<p>Not here.</p>',
      subtitle_500: 'Oh',
      message_500: '<p>Our fault.</p>',
      password_min_length: 10,
      password_allow_common: false,
      password_require_numeric: true,
      password_require_upper: true,
      password_require_lower: true,
      password_require_special: false,
      password_expiration_days: 90,
    },
    status: 200,
    shape: 'Client',
  },
  { line: 'GET /jb/clients/1/site/', as: ACME, status: 200, shape: 'Site' },
  { line: 'GET /jb/clients/1/users/', as: ACME, status: 200, shape: '[ClientUser]' },
  {
    line: 'POST /jb/clients/1/users/invitations/',
    as: ACME,
    body: { email: 'first@guest.test', extra: { team: 'north' }, initial_apps: ['zylTKNVx'] },
    status: 200,
    shape: 'ClientInvitation',
  },
  { line: 'GET /jb/clients/1/users/invitations/', as: ACME, status: 200, shape: '[ClientInvitation]' },
  { line: 'GET /jb/clients/1/apps/', as: ACME, status: 200, shape: '[ClientApp]' },

  // Users
  { line: 'GET /jb/users/', as: ACME, status: 200, shape: '[User]' },
  { line: 'GET /jb/users/?app=sales', as: ACME, status: 200, shape: '[User]' },
  { line: `GET /jb/users/${ADA}/`, as: ACME, status: 200, shape: 'User' },
  {
    line: `PATCH /jb/users/${ADA}/`,
    as: ACME,
    body: {
      extra: { desk: 4 },
      first_name: 'Augusta',
      last_name: 'King',
      is_active: true,
      is_demo_user: true,
      apps: ['zylTKNVx'],
    },
    status: 200,
    shape: 'User',
  },
  {
    line: 'POST /jb/users/',
    as: ACME,
    body: {
      email: 'new@acme.test',
      extra: {},
      first_name: 'Nia',
      last_name: 'New',
      is_demo_user: false,
      apps: ['zylTKNVx'],
    },
    status: 200,
    shape: 'User',
  },
  { line: 'DELETE /jb/users/new@acme.test/', as: ACME, status: 204 },
  {
    line: 'POST /jb/users/invitations/',
    as: ACME,
    body: {
      email: 'second@guest.test',
      client: 1,
      extra: {},
      initial_apps: ['zylTKNVx'],
      is_demo_user: 'true',
    },
    status: 200,
    shape: 'Invitation',
  },
  {
    line: 'POST /jb/users/invitations/',
    as: ACME,
    body: [
      { email: 'third@guest.test', client: 1, extra: {}, initial_apps: [], is_demo_user: 'false' },
      { email: 'fourth@guest.test', client: 1, extra: {}, initial_apps: ['Qm3vR8pa'], is_demo_user: 'true' },
    ],
    status: 200,
    shape: '[Invitation]',
  },
  { line: 'GET /jb/users/invitations/', as: ACME, status: 200, shape: '[Invitation]' },
  { line: 'GET /jb/users/invitations/?app=churn', as: ACME, status: 200, shape: '[Invitation]' },
  {
    line: 'PATCH /jb/users/invitations/second@guest.test/',
    as: ACME,
    body: { extra: { team: 'south' }, initial_apps: ['zylTKNVx', 'Qm3vR8pa'] },
    status: 200,
    shape: 'Invitation',
  },
  { line: `GET /jb/users/${ADA}/usage/zylTKNVx/`, as: ACME, body: {}, status: 200, shape: 'UsageEntry' },

  // Apps
  { line: 'GET /jb/apps/', as: ACME, status: 200, shape: '[App]' },
  { line: 'GET /jb/apps/zylTKNVx/', as: ACME, status: 200, shape: 'App' },
  {
    line: 'PATCH /jb/apps/zylTKNVx/',
    as: ACME,
    body: {
      label: 'Sales 2',
      description: 'Better.',
      help_html: '<p>Help</p>',
      footer_html: '<p>Foot</p>',
      maintenance_message: 'Back at noon.',
      show_help: true,
      show_footer: true,
      in_maintenance: true,
    },
    status: 200,
    shape: 'App',
  },
  { line: 'GET /jb/apps/zylTKNVx/usage/', as: ACME, status: 200, shape: '[UsageEntry]' },
  { line: 'GET /jb/apps/zylTKNVx/usage/?window=7', as: ACME, status: 200, shape: '[UsageEntry]' },

  // Saved global filters
  {
    line: 'POST /hashr/saved_global_filters/',
    as: ADA,
    body: { stack_id: 'a0a91e46', hash: 'h1', name: 'Mine' },
    status: 201,
    shape: 'SavedFilter',
  },
  { line: 'GET /hashr/saved_global_filters/', as: ADA, status: 200, shape: '[SavedFilter]' },
  { line: 'GET /hashr/saved_global_filters/stack/a0a91e46/', as: ADA, status: 200, shape: '[SavedFilter]' },
  { line: 'GET /hashr/saved_global_filters/h1/', as: ADA, status: 200, shape: 'SavedFilter' },
  {
    line: 'PUT /hashr/saved_global_filters/h1/',
    as: ADA,
    body: { stack_id: 'b1b82f57', hash: 'h1', name: 'Still mine' },
    status: 204,
  },
  { line: 'DELETE /hashr/saved_global_filters/h1/', as: ADA, status: 204 },

  // App fetch and load
  {
    line: 'POST /app/fetch/sales/',
    as: STAFF,
    body: { app_version: '1.0.0' },
    status: 200,
    shape: 'Message',
  },
  {
    line: 'POST /app/fetch/sales/',
    as: STAFF,
    body: { app_version: 'latest' },
    status: 200,
    shape: 'Message',
  },
  { line: 'POST /app/load/sales/', as: STAFF, status: 204 },

  // Environment
  { line: 'GET /jb/env/', as: ROOT, status: 200, shape: 'Environment' },
];

const walk = suite<{ app: TestApp }>('walk through the interface');

walk.before(async (context) => {
  context.app = await startTestApp();
  await publishDemoPackages(context.app.store);
});
walk.after(({ app }) => app.close());

for (const row of ROWS) {
  walk(`${row.line} answers ${row.status} ${row.shape ?? 'without content'}`, async ({ app }) => {
    const response = await app.send(row.line, {
      ...(row.as && { as: row.as }),
      ...(row.body !== undefined && { payload: JSON.stringify(row.body) }),
      headers: {
        accept: 'application/json',
        ...(row.body !== undefined && { 'content-type': 'application/json' }),
        ...(await csrfHeaders(app, row)),
      },
    });

    assert.is(response.statusCode, row.status, response.body);
    if (!row.shape) return assert.is(response.body, '');
    assert.match(String(response.headers['content-type']), /^application\/json/);
    matchesShape(response.json(), row.shape);
  });
}

walk.run();

/** The one POST that needs a CSRF token gets it the documented way: from the cookie of an earlier GET. */
const csrfHeaders = async (app: TestApp, { line, as }: Row) => {
  if (!line.startsWith('POST /hashr/') || !as) return {};
  const { cookies } = await app.send('GET /hashr/saved_global_filters/', { as });
  const token = cookies.find((cookie) => cookie.name === 'csrftoken')?.value ?? '';
  return { 'x-csrftoken': token, cookie: `csrftoken=${token}` };
};

/** Exactly the documented fields, each of the documented type; a list must not be empty, or it proves nothing. */
const matchesShape = (answer: unknown, shape: NonNullable<Row['shape']>): void => {
  const isList = shape.startsWith('[');
  const name = (isList ? shape.slice(1, -1) : shape) as ShapeName; // by the type of `Row`
  assert.is(Array.isArray(answer), isList);
  const items: unknown[] = Array.isArray(answer) ? answer : [answer];
  assert.ok(items.length > 0, 'an empty list proves nothing');
  for (const item of items) {
    const parsed = SHAPES[name].safeParse(item);
    assert.ok(parsed.success, `${shape}: ${parsed.error?.message}`);
    assert.equal(Object.keys(item as object).sort(), fieldsOf(name)); // the shape has just proved it an object
  }
};
