import type { FastifyInstance } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import { refuseOtherMethods } from '../rest/methods.ts';
import { failurePage } from './error-pages.ts';
import { serveHome } from './home.ts';
import { serveInvitation } from './invitation.ts';
import { serveLogin, serveLogout } from './login.ts';
import type { PageDeps } from './page-context.ts';
import { servePasswordChange } from './password-change.ts';
import { servePasswordReset } from './password-reset.ts';

const ACCOUNT_PATHS = [
  '/',
  '/login/',
  '/logout/',
  '/password/reset/',
  '/password/change/',
  '/sessions/:id/end/',
];

/** Serves the pages for users: plain HTML and forms, without scripts. */
export const servePages = async (app: FastifyInstance, deps: PageDeps): Promise<void> => {
  acceptFormsOnly(app);
  app.setErrorHandler((error, request, reply) => failurePage(request, reply, error, deps));
  serveHome(app, deps);
  serveLogin(app, deps);
  serveLogout(app, deps);
  servePasswordReset(app, deps);
  servePasswordChange(app, deps);
  serveInvitation(app, deps);
  refuseOtherMethods(app, [...ACCOUNT_PATHS, '/invitation/:key/']);
};

/** Far above the size of any form on these pages. */
const MAX_FORM_BYTES = 16 * 1024;

/** Parses URL-encoded forms and rejects every other body, including file uploads. */
const acceptFormsOnly = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  app.addContentTypeParser('*', (_request, _payload, done) => done(new Problem('unsupported-media-type')));
};
