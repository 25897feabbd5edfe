import { ACME, ADA, DEMO_PASSWORD, ROOT, STAFF } from '../../support/test-app.ts';

/** Every field of a client that can be changed, with a value to set. */
const CLIENT_CHANGES = {
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
  help_desk_may_view_as: true,
  mail_view_as: true,
};

const APP_CHANGES = {
  label: 'Sales 2',
  description: 'Better.',
  help_html: '<p>Help</p>',
  footer_html: '<p>Foot</p>',
  show_help: true,
  show_footer: true,
  in_maintenance: true,
  maintenance_message: 'Back at noon.',
};

const FILTERS = '/hashr/saved_global_filters/';
const USER = { first_name: 'Augusta', last_name: 'King', extra: { desk: 4 }, apps: ['zylTKNVx'] };
const GUEST = { extra: { team: 'north' }, initial_apps: ['zylTKNVx', 'Qm3vR8pa'] };
const INVITATION = { ...GUEST, email: 'second@guest.test', client: 1 };

/** Every row of the endpoint tables of the interface document, in its order: the caller and the request. */
export type Row = { line: string; as?: string; body?: unknown; accept?: string; cookie?: string };

export const ROWS: Row[] = [
  // Token
  { line: 'POST /api-token-auth/', body: { username: ADA, password: DEMO_PASSWORD } },

  // Sites
  { line: 'GET /jb/sites/', as: ADA },
  { line: 'GET /jb/sites/1/', as: ADA },

  // Clients
  { line: 'GET /jb/clients/', as: ACME },
  { line: 'GET /jb/clients/1/', as: ACME },
  { line: 'PATCH /jb/clients/1/', as: ACME, body: CLIENT_CHANGES },
  { line: 'GET /jb/clients/1/site/', as: ACME },
  { line: 'GET /jb/clients/1/users/', as: ACME },
  { line: 'POST /jb/clients/1/users/invitations/', as: ACME, body: { ...GUEST, email: 'first@guest.test' } },
  { line: 'GET /jb/clients/1/users/invitations/', as: ACME },
  { line: 'GET /jb/clients/1/apps/', as: ACME },

  // Users
  { line: 'GET /jb/users/', as: ACME },
  { line: 'GET /jb/users/?app=sales', as: ACME },
  { line: `GET /jb/users/${ADA}/`, as: ACME },
  { line: `PATCH /jb/users/${ADA}/`, as: ACME, body: { ...USER, is_active: true, is_demo_user: true } },
  { line: 'POST /jb/users/', as: ACME, body: { ...USER, email: 'new@acme.test', is_demo_user: false } },
  { line: 'DELETE /jb/users/new@acme.test/', as: ACME },
  { line: 'POST /jb/users/invitations/', as: ACME, body: { ...INVITATION, is_demo_user: 'true' } },
  {
    line: 'POST /jb/users/invitations/',
    as: ACME,
    body: [
      { ...INVITATION, email: 'third@guest.test', initial_apps: [], is_demo_user: 'false' },
      { ...INVITATION, email: 'fourth@guest.test', is_demo_user: 'true' },
    ],
  },
  { line: 'GET /jb/users/invitations/', as: ACME },
  { line: 'GET /jb/users/invitations/?app=churn', as: ACME },
  { line: 'PATCH /jb/users/invitations/second@guest.test/', as: ACME, body: GUEST },
  { line: `GET /jb/users/${ADA}/usage/zylTKNVx/`, as: ACME, body: {} },

  // Apps
  { line: 'GET /jb/apps/', as: ACME },
  { line: 'GET /jb/apps/zylTKNVx/', as: ACME },
  { line: 'PATCH /jb/apps/zylTKNVx/', as: ACME, body: APP_CHANGES },
  { line: 'GET /jb/apps/zylTKNVx/usage/', as: ACME },
  { line: 'GET /jb/apps/zylTKNVx/usage/?window=7', as: ACME },

  // Saved global filters
  { line: `POST ${FILTERS}`, as: ADA, body: { stack_id: 'a0a91e46', hash: 'h1', name: 'Mine' } },
  { line: `GET ${FILTERS}`, as: ADA },
  { line: `GET ${FILTERS}stack/a0a91e46/`, as: ADA },
  { line: `GET ${FILTERS}h1/`, as: ADA },
  { line: `PUT ${FILTERS}h1/`, as: ADA, body: { stack_id: 'b1b82f57', hash: 'h1', name: 'Still mine' } },
  { line: `DELETE ${FILTERS}h1/`, as: ADA },

  // App fetch and load
  { line: 'POST /app/fetch/sales/', as: STAFF, body: { app_version: '1.0.0' } },
  { line: 'POST /app/fetch/sales/', as: STAFF, body: { app_version: 'latest' } },
  { line: 'POST /app/load/sales/', as: STAFF },

  // Environment
  { line: 'GET /jb/env/', as: ROOT },
];
