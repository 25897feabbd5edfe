import type { FastifyInstance } from 'fastify';
import { userMessage } from './display-text.ts';
import { alertBox } from './fields.ts';
import { html } from './html.ts';
import { redirectTo } from './html-document.ts';
import { type LoginTarget, logoutForm, sendExpiredPassword, sendLogin } from './login-forms.ts';
import {
  createPageContext,
  formField,
  isFormRejected,
  type PageContext,
  type PageDeps,
  queryParameter,
} from './page-context.ts';
import { sendPage } from './page-layout.ts';
import { homeUrl, localPath } from './redirects.ts';

/** `/login/`: continues to `next`, or else to the home of the client's users. */
export const serveLogin = (app: FastifyInstance, deps: PageDeps): void => {
  app.get('/login/', async (request, reply) => {
    const context = createPageContext(request, reply, deps);
    const target = await loginTarget(context, queryParameter(request, 'next'));
    if (await context.currentUser()) return redirectTo(reply, target.destination);
    return sendLogin(context, target);
  });

  app.post('/login/', async (request, reply) => {
    const context = createPageContext(request, reply, deps);
    const target = await loginTarget(context, formField(request, 'next'));
    return formField(request, 'new_password') === ''
      ? logIn(context, target)
      : changeExpiredPassword(context, target);
  });
};

/** `/logout/`: POST only, so that links and images cannot log a user out. */
export const serveLogout = (app: FastifyInstance, deps: PageDeps): void => {
  app.post('/logout/', async (request, reply) => {
    const context = createPageContext(request, reply, deps);
    const next = localPath(formField(request, 'next'));
    const { problem } = await context.submit((caller) => caller.sessions.end({}));
    if (!problem || !(await context.currentUser())) return redirectTo(reply, next ?? '/login/');

    const content = html`
<h1>Log out?</h1>
<div class="card">${alertBox(userMessage(problem))}${logoutForm(context, { next })}</div>`;
    const brand = await context.reader.branding.get({});
    return sendPage(reply, { brand, title: 'Log out', content }, { problem });
  });
};

const loginTarget = async ({ reader }: PageContext, requested: string | undefined): Promise<LoginTarget> => {
  const branding = await reader.branding.get({});
  const next = localPath(requested);
  return { branding, next, destination: next ?? homeUrl(branding.home_location) };
};

const logIn = async (context: PageContext, target: LoginTarget) => {
  const username = formField(context.request, 'username');
  const password = formField(context.request, 'password');
  const { problem } = await context.submit((caller) => caller.sessions.create({ username, password }));
  if (!problem) return redirectTo(context.reply, target.destination);
  if (problem.code === 'password_expired') return sendExpiredPassword(context, target, { username, problem });
  // The user has already logged in with another tab, which replaced the CSRF token of this form.
  const isLoggedIn = isFormRejected(problem) && (await context.currentUser());
  if (isLoggedIn) return redirectTo(context.reply, target.destination);
  return sendLogin(context, target, { username, problem });
};

const changeExpiredPassword = async (context: PageContext, target: LoginTarget) => {
  const username = formField(context.request, 'username');
  const password = formField(context.request, 'password');
  const newPassword = formField(context.request, 'new_password');
  const change = await context.submit((caller) =>
    caller.passwords.renew({ username, password, new_password: newPassword }),
  );
  if (change.problem) return sendExpiredPassword(context, target, { username, problem: change.problem });
  const { problem } = await context.submit((caller) =>
    caller.sessions.create({ username, password: newPassword }),
  );
  return problem
    ? sendLogin(context, target, { username, problem })
    : redirectTo(context.reply, target.destination);
};
