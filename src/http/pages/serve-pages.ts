import type { FastifyInstance } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import type { ContextDeps } from '../middleware/request-context.ts';
import { refuseOtherMethods } from '../rest/methods.ts';
import { accessViewPages } from './access-view.ts';
import { failurePage } from './error-pages.ts';
import { homePages } from './home.ts';
import { invitationPages } from './invitation.ts';
import { launchPages } from './launch.ts';
import { loginPages } from './login.ts';
import { createPageContext } from './page-context.ts';
import { passwordChangePages } from './password-change.ts';
import { passwordResetPages } from './password-reset.ts';

const PAGES = {
  ...homePages,
  ...launchPages,
  ...loginPages,
  ...passwordResetPages,
  ...passwordChangePages,
  ...invitationPages,
  ...accessViewPages,
};

/** Serves the pages for users: plain HTML and forms, without scripts. */
export const servePages = async (app: FastifyInstance, deps: ContextDeps): Promise<void> => {
  acceptFormsOnly(app);
  app.setErrorHandler((error, _request, reply) => failurePage(reply, error, deps));
  const routes = Object.entries(PAGES).map(([route, handle]) => {
    const [method = '', url = ''] = route.split(' ');
    return { method, url, handle };
  });
  for (const { method, url, handle } of routes)
    app.route({ method, url, handler: (_request, reply) => handle(createPageContext(reply, deps)) });
  refuseOtherMethods(
    app,
    routes.map(({ url }) => url),
  );
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
