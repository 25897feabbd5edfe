import { type Html, html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import {
  formField,
  formFields,
  isFormRejected,
  type PageContext,
  type Pages,
  queryParameter,
} from './page-context.ts';
import {
  codePath,
  enrolPath,
  formActionSources,
  homeUrl,
  localPath,
  loginPath,
  redirectTo,
  TO_ANY_SITE,
} from './page-layout.ts';
import { alertBox, currentPasswordField, emailField, hiddenField, passwordChangeFields } from './parts.ts';
import { offersPasskeys, passkeyArea } from './passkeys.ts';
import { answering, requireOwnForm, startLogin } from './sso.ts';

/** `/login/` continues to `next`, or else to the home of the client's users. */
export const loginPages: Pages = {
  'GET /login/': async (context) => {
    const target = await loginTarget(context, queryParameter(context, 'next'));
    const user = await context.currentUser();
    const isEnrolling = queryParameter(context, 'enrol') !== undefined;
    const isAgain = queryParameter(context, 'again') !== undefined;
    if (user && !isEnrolling && !isAgain) return redirectTo(context.reply, target.destination);
    const asksForPassword = queryParameter(context, 'method') === 'password';
    const isAddressFirst = !asksForPassword && (await context.openServices().domains.leadAnywhere());
    const state = { notice: noticeOf(context), username: user?.email, isEnrolling, isAddressFirst };
    return sendLogin(context, target, state);
  },

  'POST /login/': async (context) => {
    const target = await loginTarget(context, formField(context, 'next'));
    if (formField(context, 'step') === 'address')
      return answering(context, () => {
        requireOwnForm(context);
        return chooseMethod(context, target);
      });
    return formField(context, 'new_password') === ''
      ? logIn(context, target)
      : changeExpiredPassword(context, target);
  },

  // POST only, so that links and images cannot log a user out.
  'POST /logout/': async (context) => {
    const next = localPath(formField(context, 'next'));
    const actor = await context.currentActor();
    // For the login page, which then offers the logout at the provider of the ended session.
    const connection = actor && (await context.openServices().ssoLogins.findOwn(actor));
    const loggedOut = connection ? `/login/?logged_out=${connection.id}` : '/login/';
    const { problem } = await context.submit((caller) => caller.sessions.end({}));
    if (!problem) return redirectTo(context.reply, next ?? loggedOut);
    if (!(await context.currentUser())) return redirectTo(context.reply, next ?? '/login/');
    const content = html`
<h1>Log out?</h1>
<div class="card">${alertBox(problem)}${logoutForm(context, { next })}</div>`;
    return context.sendPage({ title: 'Log out', content, problem });
  },
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

/** `next`: the page that required the login, or null; `destination`: the page to open after the login. */
export type LoginTarget = Awaited<ReturnType<typeof loginTarget>>;

export const loginTarget = async ({ getBranding }: PageContext, requested: string | undefined) => {
  const branding = await getBranding();
  const next = localPath(requested);
  return { branding, next, destination: next ?? homeUrl(branding.home_location) };
};

/** By the domain alone, so that the page does not reveal which accounts exist. */
const chooseMethod = async (context: PageContext, target: LoginTarget) => {
  const username = formField(context, 'username').trim();
  const connection = await context.openServices().domains.findConnection(username);
  const isEnrolling = formField(context, 'enrol') !== '';
  if (!connection) return sendLogin(context, target, { username, isEnrolling });
  const start = { connectionId: connection.id, kind: 'login', next: target.next } as const;
  return startLogin(context, { ...start, email: username });
};

const logIn = async (context: PageContext, target: LoginTarget) => {
  const [username, password] = formFields(context, 'username', 'password');
  const isEnrolling = formField(context, 'enrol') !== '';
  const { problem } = await context.submit((caller) =>
    caller.sessions.create({ username, password, enrol: isEnrolling }),
  );
  if (!problem) return redirectTo(context.reply, target.destination);
  if (problem.code === 'password_expired') return sendExpired(context, target, { username, problem });
  const nextPage = nextLoginPage(problem, target);
  if (nextPage !== null) return redirectTo(context.reply, nextPage);
  // The user has already logged in with another tab, which replaced the CSRF token of this form.
  const isLoggedIn = isFormRejected(problem) && (await context.currentUser());
  if (isLoggedIn) return redirectTo(context.reply, target.destination);
  return sendLogin(context, target, { username, problem, isEnrolling });
};

/** The page on which a login with a challenge continues; null for other problems. */
const nextLoginPage = ({ code }: Problem, { next }: LoginTarget): string | null => {
  if (code === 'otp-required') return codePath(next);
  return code === 'second-factor-required' ? enrolPath(next) : null;
};

const changeExpiredPassword = async (context: PageContext, target: LoginTarget) => {
  const [username, password, new_password] = formFields(context, 'username', 'password', 'new_password');
  const change = await context.submit((caller) =>
    caller.passwords.renew({ username, password, new_password }),
  );
  if (change.problem) return sendExpired(context, target, { username, problem: change.problem });
  const login = { username, password: new_password };
  const { problem } = await context.submit((caller) => caller.sessions.create(login));
  const nextPage = problem ? nextLoginPage(problem, target) : target.destination;
  if (nextPage !== null) return redirectTo(context.reply, nextPage);
  return sendLogin(context, target, { username, problem });
};

/** Why the login page is shown, by URL parameter. */
const NOTICES = {
  again: 'An app asks you to log in again.',
  /** The console was in use until its session ended. */
  ended: 'Your session has ended. Log in again to continue where you were.',
  enrol: 'This needs a second factor, and you have none yet. Log in again to set one up.',
  /** The logout at the provider was not possible. */
  kept: 'You may still be logged in at your identity provider. Log out there, too.',
  late: 'The time for the code is over, or too many codes were wrong. Log in again.',
};

const noticeOf = (context: PageContext): string | Html | undefined => {
  const connection = queryParameter(context, 'logged_out') ?? '';
  // The same text for every id, because anyone can open this page: it must not reveal which connections exist, or their names.
  if (/^\d{1,9}$/.test(connection))
    return html`You are logged out here. On a shared computer, log out at your identity provider, too: otherwise the next person can log in as you.
<a href="/sso/${connection}/logout/">Log out at your provider, too</a>`;
  return Object.entries(NOTICES).find(([name]) => queryParameter(context, name) !== undefined)?.[1];
};

type LoginState = {
  username?: string | undefined;
  problem?: Problem | null;
  notice?: string | Html | undefined;
  /** Whether the login continues with the setup of a second factor. */
  isEnrolling?: boolean;
  /** Whether the page asks only for the address, because some addresses lead to an identity provider. */
  isAddressFirst?: boolean;
};

const sendLogin = async (context: PageContext, target: LoginTarget, state: LoginState) => {
  const { username = '', problem = null, notice, isEnrolling, isAddressFirst = false } = state;
  const { login_title, login_subtitle, client_name } = target.branding;
  const errors = problem?.fields;
  const hasPasskeys = await offersPasskeys(context);
  const isFocused = isAddressFirst || username === '' || errors?.username !== undefined;
  const address = { name: 'username', value: username, errors: errors?.username, isFocused, hasPasskeys };
  const password = { label: 'Password', errors: errors?.password, isFocused: !isFocused };
  const otherwise = 'Without it, log in with your password.';
  const form = {
    title: 'Log in',
    heading: login_title || `Welcome to ${client_name}`,
    lead: login_subtitle,
    notice,
    isEnrolling,
    otherWay:
      hasPasskeys && passkeyArea({ purpose: 'login', label: 'Log in with a passkey', ...target, otherwise }),
    problem,
  };
  if (isAddressFirst) {
    const query = new URLSearchParams({
      method: 'password',
      ...(target.next !== null && { next: target.next }),
    });
    return sendLoginForm(context, target, {
      ...form,
      fields: [hiddenField('step', 'address'), emailField(address)],
      button: 'Continue',
      aside: html`<a href="/login/?${query.toString()}">Log in with a password</a>`,
      // Chromium also checks the redirect to the provider. In private networks, providers may use `http://`.
      formAction: TO_ANY_SITE,
    });
  }
  const isSsoRequired = problem?.code === 'sso-required';
  return sendLoginForm(context, target, {
    ...form,
    fields: [emailField(address), currentPasswordField(password)],
    button: 'Log in',
    aside: isSsoRequired && html`<a href="${loginPath(target.next ?? '/')}">Log in with single sign-on</a>`,
  });
};

type Expired = { username: string; problem: Problem };

/** The form for a user whose password is correct but expired: sets a new password, then logs in. */
const sendExpired = async (context: PageContext, target: LoginTarget, { username, problem }: Expired) => {
  const errors = problem.fields;
  return sendLoginForm(context, target, {
    title: 'Password expired',
    heading: 'Your password has expired',
    lead: 'Choose a new password to log in.',
    fields: [
      emailField({ name: 'username', value: username, errors: errors?.username }),
      ...passwordChangeFields(errors, await context.passwordRules(username)),
    ],
    button: 'Change password and log in',
    problem,
  });
};

type LoginForm = {
  title: string;
  heading: string;
  lead: string;
  notice?: string | Html | undefined;
  isEnrolling?: boolean | undefined;
  fields: Html[];
  button: string;
  /** Another way to log in. */
  otherWay?: Html | false;
  problem: Problem | null;
  /** Replaces the link for a forgotten password. */
  aside?: Html | false;
  formAction?: string;
};

const sendLoginForm = (context: PageContext, { next, destination }: LoginTarget, form: LoginForm) => {
  const { notice, fields, button, otherWay = false, aside, isEnrolling, ...page } = form;
  return context.sendForm({
    formAction: formActionSources(destination),
    ...page,
    action: '/login/',
    alert: page.problem?.code === 'password_expired' ? null : page.problem,
    hidden: { next, enrol: isEnrolling ? '1' : null },
    body: html`${notice !== undefined && html`<p role="status">${notice}</p>`}
${fields}
<button>${button}</button>
${otherWay}
<p class="aside">${aside || html`<a href="/password/reset/">Forgot your password?</a>`}</p>`,
    hasScript: otherWay !== false,
  });
};
