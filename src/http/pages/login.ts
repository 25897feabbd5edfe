import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { userMessage } from './display-text.ts';
import { alertBox, currentPasswordField, emailField, hiddenField, newPasswordField } from './fields.ts';
import {
  type Caller,
  createPageContext,
  formField,
  isFormRejected,
  type PageContext,
  type PageDeps,
  queryParameter,
} from './page-context.ts';
import { redirectTo, sendPage } from './page-layout.ts';
import { formActionSources, homeUrl, localPath } from './redirects.ts';

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
    return context.sendPage({ title: 'Log out', content, problem });
  });
};

type LogoutOptions = { next?: string | null; isQuiet?: boolean };

export const logoutForm = (
  context: PageContext,
  { next = null, isQuiet = false }: LogoutOptions = {},
): Html => html`
<form method="post" action="/logout/">
${context.csrfField()}
${next !== null && hiddenField('next', next)}
<button${isQuiet && html` class="quiet"`}>Log out</button>
</form>`;

type LoginTarget = {
  branding: Awaited<ReturnType<Caller['branding']['get']>>;
  /** The page that required the login, or null. */
  next: string | null;
  /** Where the browser goes after the login. */
  destination: string;
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

type FailedLogin = { username: string; problem: Problem | null };

const sendLogin = (
  context: PageContext,
  target: LoginTarget,
  { username, problem }: FailedLogin = { username: '', problem: null },
) => {
  const { login_title, login_subtitle, client_name } = target.branding;
  const errors = problem?.fields;
  return sendLoginForm(context, target, {
    title: 'Log in',
    intro: html`
<h1>${login_title || `Welcome to ${client_name}`}</h1>
${login_subtitle !== '' && html`<p class="lead">${login_subtitle}</p>`}`,
    alert: problem,
    fields: [
      emailField({
        name: 'username',
        value: username,
        errors: errors?.username,
        isFocused: username === '' || errors?.username !== undefined,
      }),
      currentPasswordField({
        label: 'Password',
        errors: errors?.password,
        isFocused: username !== '' && errors?.username === undefined,
      }),
    ],
    button: 'Log in',
    problem,
  });
};

/** The form for a user whose password is correct but expired: sets a new password, then logs in. */
const sendExpiredPassword = async (
  context: PageContext,
  target: LoginTarget,
  { username, problem }: FailedLogin,
) => {
  const errors = problem?.fields;
  const isFirstAttempt = problem?.code === 'password_expired';
  return sendLoginForm(context, target, {
    title: 'Password expired',
    intro: html`
<h1>Your password has expired</h1>
<p class="lead">Choose a new password to log in.</p>`,
    alert: isFirstAttempt ? null : problem,
    fields: [
      emailField({ name: 'username', value: username, errors: errors?.username }),
      currentPasswordField({
        label: 'Current password',
        errors: errors?.password,
        isFocused: isFirstAttempt || errors?.new_password === undefined,
      }),
      newPasswordField({
        name: 'new_password',
        label: 'New password',
        rules: await context.passwordRules(username),
        errors: errors?.new_password,
        isFocused: errors?.new_password !== undefined,
      }),
    ],
    button: 'Change password and log in',
    problem,
  });
};

type LoginForm = {
  title: string;
  intro: Html;
  /** The problem shown above the fields. */
  alert: Problem | null;
  fields: Html[];
  button: string;
  problem: Problem | null;
};

const sendLoginForm = (context: PageContext, target: LoginTarget, form: LoginForm) => {
  const { branding, next, destination } = target;
  const content = html`${form.intro}
<form class="card" method="post" action="/login/">
${alertBox(form.alert && userMessage(form.alert))}
${context.csrfField()}
${next !== null && hiddenField('next', next)}
${form.fields}
<button>${form.button}</button>
<p class="aside"><a href="/password/reset/">Forgot your password?</a></p>
</form>`;
  const formAction = formActionSources(destination);
  return sendPage(context.reply, {
    brand: branding,
    title: form.title,
    content,
    problem: form.problem,
    formAction,
  });
};
