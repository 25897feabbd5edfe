import { ADA, EDSGER } from '../support/test-app.ts';

/** An app of the second client, and one that does not exist. */
export const FLEET = ['Hb7cW2ke', 'AAAAAAAA'] as const;
export const MISSING_ID = '999999';
/** Invited by the second client. */
export const GUEST = 'guest@globex.test';

/** Ids in queries and bodies: of the second client, and missing. */
export const REFERENCES: { line: string; of: readonly [string, string]; body?: unknown }[] = [
  { line: 'GET /jb/users/?app=ID', of: ['fleet', 'nothing'] },
  { line: 'GET /jb/users/?limit=5&cursor=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'GET /jb/users/?page=1&search=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'GET /jb/users/?client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/users/count/?client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/users/count/?app=ID', of: ['fleet', 'nothing'] },
  { line: 'GET /jb/users/?limit=5&sort=name&cursor=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'GET /jb/mails/?recipient=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'GET /jb/mails/?search=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'GET /jb/mails/timeline/?email=ID', of: [GUEST, 'unknown@globex.test'] },
  { line: 'GET /jb/clients/1/access/?cursor=ID', of: [EDSGER, 'unknown@globex.test'] },
  {
    line: 'PATCH /jb/clients/1/access/',
    of: [EDSGER, 'unknown@globex.test'],
    body: { cells: [{ email: 'ID', app_id: 'zylTKNVx', granted: true }] },
  },
  {
    line: 'PATCH /jb/clients/1/access/',
    of: FLEET,
    body: { cells: [{ email: ADA, app_id: 'ID', granted: true }] },
  },
  {
    line: 'POST /jb/users/bulk/',
    of: FLEET,
    body: { emails: [ADA], action: 'grant-apps', apps: ['ID'] },
  },
  {
    line: 'POST /jb/users/bulk/',
    of: ['2', MISSING_ID],
    body: { filter: { client: 'ID' }, action: 'reactivate' },
  },
  { line: 'GET /jb/clients/1/users/?limit=5&cursor=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'GET /jb/clients/1/apps/?limit=5&cursor=ID', of: FLEET },
  { line: 'GET /jb/apps/?limit=5&cursor=ID', of: FLEET },
  { line: 'GET /jb/users/invitations/?app=ID', of: ['fleet', 'nothing'] },
  { line: 'GET /jb/users/invitations/?page=1&status=all&search=ID', of: [GUEST, 'unknown@globex.test'] },
  { line: 'GET /jb/invitations/?page=1&status=all&client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/invitations/?page=1&status=all&search=ID', of: [GUEST, 'unknown@globex.test'] },
  { line: 'GET /jb/mails/?page=1&client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/audit/?page=1&client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/audit/?page=1&target=ID', of: ['of@globex.test', 'unknown@globex.test'] },
  { line: 'GET /jb/audit/?page=1&actor=ID', of: ['of@globex.test', 'unknown@globex.test'] },
  { line: 'GET /access_views/?app=ID', of: ['fleet', 'nothing'] },
  { line: 'GET /access_views/?user=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'POST /access_views/', of: ['fleet', 'nothing'], body: { app: 'ID' } },
  {
    line: 'POST /access_views/',
    of: [EDSGER, 'unknown@globex.test'],
    body: { app: 'sales', user: 'ID' },
  },
  { line: 'GET /jb/usage/series/?app_id=ID', of: FLEET },
  { line: 'GET /jb/usage/series/?email=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'GET /jb/usage/report/?app_id=ID', of: FLEET },
  { line: 'GET /jb/usage/report/?client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/usage/report/?email=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'GET /jb/usage/report/?app_id=zylTKNVx&stack=ID', of: ['d3d64b79', '00000000'] },
  { line: 'GET /jb/usage/top-apps/?client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/usage/apps/?client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/usage/apps/?cursor=ID', of: FLEET },
  { line: 'GET /jb/usage/idle-apps/?days=1&client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/usage/idle-apps/?cursor=ID', of: FLEET },
  { line: 'GET /jb/usage/idle-users/?client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/usage/idle-users/?cursor=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'GET /jb/apps/?client=ID', of: ['2', MISSING_ID] },
  { line: 'GET /jb/apps/?page=1&search=ID', of: ['fleet', 'nothing'] },
  { line: 'GET /jb/apps/zylTKNVx/usage/entries/?email=ID', of: [EDSGER, 'unknown@globex.test'] },
  { line: 'GET /hashr/saved_global_filters/?limit=5&cursor=ID', of: ['of-edsger', 'of-missing'] },
  { line: 'POST /jb/users/', of: ['2', MISSING_ID], body: { email: EDSGER, client: 'ID' } },
  { line: 'POST /jb/users/', of: FLEET, body: { email: 'new@x.test', apps: ['ID'] } },
  { line: `PATCH /jb/users/${ADA}/`, of: FLEET, body: { apps: ['ID'] } },
  { line: 'POST /jb/users/invitations/', of: ['2', MISSING_ID], body: { email: EDSGER, client: 'ID' } },
  { line: 'POST /jb/users/invitations/', of: FLEET, body: { email: 'new@x.test', initial_apps: ['ID'] } },
  {
    line: 'POST /jb/clients/1/users/invitations/',
    of: FLEET,
    body: { email: 'new@x.test', initial_apps: ['ID'] },
  },
  {
    line: `PATCH /jb/users/invitations/${GUEST}/?client=ID`,
    of: ['2', MISSING_ID],
    body: { initial_apps: [] },
  },
  {
    line: 'PUT /hashr/saved_global_filters/own/',
    of: ['d3d64b79', '00000000'],
    body: { stack_id: 'ID', hash: 'own', name: 'x' },
  },
];
