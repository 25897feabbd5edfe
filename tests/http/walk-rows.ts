import { ACME, ADA, DEMO_PASSWORD, ROOT, STAFF } from '../support/test-app.ts';
import { APP_CHANGES, CLIENT_CHANGES, MAINTENANCE, type ShapeName } from './documented-shapes.ts';

/**
 * Every row of the endpoint tables of the interface document, in its order: the caller, the request, and the expected status
 * and shape. An array shape is written `[Shape]`.
 */
export type Row = {
  line: string;
  as?: string;
  body?: unknown;
  accept?: string;
  cookie?: string;
  status: number;
  shape?: ShapeName | `[${ShapeName}]`;
};

export const ROWS: Row[] = [
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
    body: CLIENT_CHANGES,
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
  { line: `GET /jb/users/${ADA}/`, as: ACME, status: 200, shape: 'UserDetail' },
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
    shape: 'UserDetail',
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
    body: { ...APP_CHANGES, ...MAINTENANCE },
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
