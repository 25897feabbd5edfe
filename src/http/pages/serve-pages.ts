import type { FastifyInstance } from 'fastify';
import { refuseOtherMethods } from '../rest/methods.ts';
import { failurePage } from './error-pages.ts';
import { takeForms } from './form-body.ts';
import { serveHome } from './home.ts';
import { serveInvitation } from './invitation.ts';
import { serveLogin } from './login.ts';
import { serveLogout } from './logout.ts';
import type { PageDeps } from './page-context.ts';
import { servePasswordChange } from './password-change.ts';
import { servePasswordReset } from './password-reset.ts';

const SHOWN = ['GET', 'HEAD'];
const METHODS = new Map([
  ['/', SHOWN],
  ['/login/', [...SHOWN, 'POST']],
  ['/logout/', ['POST']],
  ['/password/reset/', [...SHOWN, 'POST']],
  ['/password/change/', [...SHOWN, 'POST']],
  ['/invitation/:key/', [...SHOWN, 'POST']],
  ['/sessions/:id/end/', ['POST']],
]);

/** The pages for people: plain HTML and forms, without any script. */
export const servePages = async (app: FastifyInstance, deps: PageDeps): Promise<void> => {
  takeForms(app);
  app.setErrorHandler((error, request, reply) => failurePage(request, reply, error, deps));
  serveHome(app, deps);
  serveLogin(app, deps);
  serveLogout(app, deps);
  servePasswordReset(app, deps);
  servePasswordChange(app, deps);
  serveInvitation(app, deps);
  refuseOtherMethods(app, METHODS);
};
