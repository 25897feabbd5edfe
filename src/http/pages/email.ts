import { html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { logoutForm } from './login.ts';
import { attempt, formField, type PageContext, type Pages, queryParameter } from './page-context.ts';
import { loginPath } from './page-layout.ts';

type Kind = 'confirm' | 'undo';

/** Links of a change of an email address. Opening one changes nothing, because mail scanners open every link. */
export const emailPages: Pages = {
  'GET /email/confirm/': (context) => sendForm(context, 'confirm', queryParameter(context, 'token') ?? ''),
  'POST /email/confirm/': (context) => submit(context, 'confirm'),
  'GET /email/undo/': (context) => sendForm(context, 'undo', queryParameter(context, 'token') ?? ''),
  'POST /email/undo/': (context) => submit(context, 'undo'),
};

const submit = async (context: PageContext, kind: Kind) => {
  const token = formField(context, 'token');
  const { problem } = await context.submit(({ profile }) =>
    kind === 'confirm' ? profile.confirmEmail({ token }) : profile.undoEmail({ token }),
  );
  return problem ? sendForm(context, kind, token, problem) : context.sendCard(DONE[kind]);
};

const sendForm = async (context: PageContext, kind: Kind, token: string, problem: Problem | null = null) => {
  const link = await attempt(() => context.reader.profile.verifyEmail({ kind, token }));
  if (link.problem) return context.sendCard({ ...INVALID_LINK, problem: link.problem });
  const { title, explain, button } = FORMS[kind];
  const { email, new_email, needs_login } = link.value;
  if (needs_login)
    return sendLogin(context, { email, next: `/email/confirm/?${new URLSearchParams({ token })}` }, problem);
  return context.sendForm({
    title,
    action: `/email/${kind}/`,
    problem,
    hidden: { token },
    body: html`${explain(email, new_email)}
<button>${button}</button>`,
  });
};

const FORMS = {
  confirm: {
    title: 'Confirm your new email address',
    explain: (from: string, to: string) =>
      html`<p>The account <strong>${from}</strong> will use <strong>${to}</strong>. From then on, log in with the
new address.</p>`,
    button: 'Confirm the address',
  },
  undo: {
    title: 'Undo the change of your email address',
    explain: (_: string, to: string) =>
      html`<p>Your account will use <strong>${to}</strong> again, and will be logged out everywhere.</p>`,
    button: 'Undo the change',
  },
};

const DONE = {
  confirm: {
    title: 'Email address changed',
    body: html`<p>Log in with the new address from now on. The old address has been informed. If an administrator requested the change, you
get an email to set a new password.</p>
<p><a class="button" href="/">Go to your account</a></p>`,
  },
  undo: {
    title: 'Change undone',
    body: html`<p>The account uses its old address again, and has been logged out everywhere. Set a new password now, in case someone else
knows the old one.</p>
<p><a class="button" href="/password/reset/">Set a new password</a></p>`,
  },
};

/** For a person's own change. Another account may be logged in. */
const sendLogin = async (
  context: PageContext,
  { email, next }: { email: string; next: string },
  problem: Problem | null,
) => {
  const user = await context.currentUser();
  return context.sendCard({
    title: 'Log in to confirm your new email address',
    ...(problem && { problem }),
    body: user
      ? html`<p>You are logged in as <strong>${user.email}</strong>, but this link is for the account <strong>${email}</strong>. Log out to
confirm it. If it is not your account, ignore the email.</p>${logoutForm(context, { next })}`
      : html`<p>Log in as <strong>${email}</strong> to confirm the new address. If it is not your account, ignore the email.</p>
<p><a class="button" href="${loginPath(next)}">Log in</a></p>`,
  });
};

const INVALID_LINK = {
  title: 'This link is no longer valid',
  body: html`<p>It may have expired, or it was already used.</p>
<p><a class="button" href="/">Go to your account</a></p>`,
};
