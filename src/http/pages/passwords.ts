import { html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import {
  attempt,
  formField,
  formFields,
  type PageContext,
  type Pages,
  queryParameter,
} from './page-context.ts';
import { loginPath, redirectTo } from './page-layout.ts';
import { emailField, hiddenUsername, newPasswordField, passwordChangeFields } from './parts.ts';

const PATH = '/password/change/';

export const passwordChangePages: Pages = {
  [`GET ${PATH}`]: async (context) => sendForm(context),

  [`POST ${PATH}`]: async (context) => {
    const [password, new_password] = formFields(context, 'password', 'new_password');
    const { problem } = await context.submit((caller) => caller.passwords.change({ password, new_password }));
    return problem ? sendForm(context, problem) : context.sendCard(CHANGED);
  },
};

const sendForm = async (context: PageContext, problem: Problem | null = null) => {
  const user = await context.currentUser();
  if (!user) return redirectTo(context.reply, loginPath(PATH));
  return context.sendForm({
    title: 'Change your password',
    action: PATH,
    problem,
    body: html`${hiddenUsername(user.email)}
${passwordChangeFields(problem?.fields, await context.passwordRules(user.email))}
<button>Change password</button>
<p class="aside"><a href="/">Cancel</a></p>`,
  });
};

const CHANGED = {
  title: 'Password changed',
  body: html`<p>You stay logged in here. You have been logged out everywhere else.</p>
<p><a class="button" href="/">Back to your account</a></p>`,
};

/** `/password/reset/`: requests a link by mail, or, with the token of a link, sets a new password. */
export const passwordResetPages: Pages = {
  'GET /password/reset/': async (context) => {
    const token = queryParameter(context, 'token');
    return token === undefined ? sendRequestForm(context) : sendPasswordForm(context, token);
  },

  'POST /password/reset/': async (context) => {
    const token = formField(context, 'token');
    return token === '' ? requestLink(context) : setPassword(context, token);
  },
};

const requestLink = async (context: PageContext) => {
  const email = formField(context, 'email').trim();
  const { problem } = await context.submit((caller) => caller.passwords.requestReset({ email }));
  return problem ? sendRequestForm(context, problem, email) : sendLinkMailed(context, email);
};

const setPassword = async (context: PageContext, token: string) => {
  const password = formField(context, 'password');
  const { problem } = await context.submit((caller) => caller.passwords.reset({ token, password }));
  return problem ? sendPasswordForm(context, token, problem) : context.sendCard(RESET);
};

/** Asks for an email address. Also shown for a link that is no longer valid. */
const sendRequestForm = async (context: PageContext, problem: Problem | null = null, email = '') => {
  const isInvalidLink = problem?.code === 'invalid-link';
  return context.sendForm({
    title: isInvalidLink ? 'This link is no longer valid' : 'Forgot your password?',
    lead: isInvalidLink
      ? 'It may have expired, or it was already used. Enter your email address to get a new link.'
      : 'Enter your email address, and we will send you a link to reset your password.',
    action: '/password/reset/',
    problem,
    alert: isInvalidLink ? null : problem,
    body: html`${emailField({ name: 'email', value: email, errors: problem?.fields?.email, isFocused: true })}
<button>Send reset link</button>
<p class="aside"><a href="/login/">Back to login</a></p>`,
  });
};

/** The same page for every address: it must not reveal which accounts exist. */
const sendLinkMailed = (context: PageContext, email: string) =>
  context.sendCard({
    title: 'Check your email',
    body: html`<p>If <strong>${email}</strong> has an account, we have sent a link to reset its password. The link expires in
an hour and can be used once.</p>
<p>If the email does not arrive within a few minutes, check your spam folder or
<a href="/password/reset/">try another address</a>.</p>
<p class="aside"><a href="/login/">Back to login</a></p>`,
  });

/** Opening a link does not invalidate it, because mail scanners open every link. */
const sendPasswordForm = async (context: PageContext, token: string, problem: Problem | null = null) => {
  const link = await attempt(() => context.reader.passwords.verifyToken({ token }));
  if (link.problem) return sendRequestForm(context, link.problem);
  const { email, rules } = link.value;
  const errors = problem?.fields?.password;
  return context.sendForm({
    title: 'Choose a new password',
    lead: `For ${email}`,
    action: '/password/reset/',
    problem,
    hidden: { token },
    body: html`${hiddenUsername(email)}
${newPasswordField({ name: 'password', label: 'New password', rules, errors, isFocused: true })}
<button>Set password</button>`,
  });
};

const RESET = {
  title: 'Password changed',
  body: html`<p>Log in with your new password. You have been logged out everywhere.</p>
<p><a class="button" href="/login/">Log in</a></p>`,
};
