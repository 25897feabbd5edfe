import type { Problem } from '../../lib/problems.ts';
import { userMessage } from './display-text.ts';
import { alertBox, hiddenField, inputField, newPasswordField } from './fields.ts';
import { type Html, html } from './html.ts';
import type { Caller, PageContext } from './page-context.ts';
import { sendPage } from './page-layout.ts';
import { formActionSources } from './redirects.ts';

/** What the login pages need to know about where the user came from. */
export type LoginTarget = {
  branding: Awaited<ReturnType<Caller['branding']['get']>>;
  /** The page that required the login, or null. */
  next: string | null;
  /** Where the browser goes after the login. */
  destination: string;
};

type FailedLogin = { username: string; problem: Problem };

export const sendLogin = (context: PageContext, target: LoginTarget, failure?: FailedLogin) => {
  const { branding, next, destination } = target;
  const { fields } = failure?.problem ?? {};
  const username = failure?.username ?? '';
  const content = html`
<h1>${branding.login_title || `Welcome to ${branding.client_name}`}</h1>
${branding.login_subtitle !== '' && html`<p class="lead">${branding.login_subtitle}</p>`}
<form class="card" method="post" action="/login/">
${alertBox(failure ? userMessage(failure.problem) : null)}
${context.csrfField()}
${next !== null && hiddenField('next', next)}
${inputField({
  name: 'username',
  label: 'Email address',
  type: 'email',
  autocomplete: 'username',
  value: username,
  errors: fields?.username,
  isFocused: username === '' || fields?.username !== undefined,
})}
${inputField({
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'current-password',
  errors: fields?.password,
  isFocused: username !== '' && fields?.username === undefined,
})}
<button>Log in</button>
<p class="aside"><a href="/password/reset/">Forgot your password?</a></p>
</form>`;
  const page = { brand: branding, title: 'Log in', content };
  return sendPage(context.reply, page, {
    problem: failure?.problem ?? null,
    formAction: formActionSources(destination),
  });
};

/** The form for a user whose password is correct but expired: sets a new password, then logs in. */
export const sendExpiredPassword = async (
  context: PageContext,
  { branding, next, destination }: LoginTarget,
  { username, problem }: FailedLogin,
) => {
  const { fields } = problem;
  const isFirstAttempt = problem.code === 'password_expired';
  const content = html`
<h1>Your password has expired</h1>
<p class="lead">Choose a new password to log in.</p>
<form class="card" method="post" action="/login/">
${alertBox(isFirstAttempt ? null : userMessage(problem))}
${context.csrfField()}
${next !== null && hiddenField('next', next)}
${inputField({
  name: 'username',
  label: 'Email address',
  type: 'email',
  autocomplete: 'username',
  value: username,
  errors: fields?.username,
})}
${inputField({
  name: 'password',
  label: 'Current password',
  type: 'password',
  autocomplete: 'current-password',
  errors: fields?.password,
  isFocused: isFirstAttempt || fields?.new_password === undefined,
})}
${newPasswordField({
  name: 'new_password',
  label: 'New password',
  rules: await context.passwordRules(username),
  errors: fields?.new_password,
  isFocused: fields?.new_password !== undefined,
})}
<button>Change password and log in</button>
<p class="aside"><a href="/password/reset/">Forgot your password?</a></p>
</form>`;
  const page = { brand: branding, title: 'Password expired', content };
  return sendPage(context.reply, page, { problem, formAction: formActionSources(destination) });
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
