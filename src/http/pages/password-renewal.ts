import type { Problem } from '../../lib/problems.ts';
import { alertBox, hiddenField, inputField, newPasswordField } from './fields.ts';
import { html } from './html.ts';
import type { Arrival } from './login.ts';
import { sentenceOf } from './messages.ts';
import type { Visit } from './page-context.ts';
import { rulesFor } from './password-rules.ts';
import { formTargets } from './redirects.ts';
import { sendPage } from './send-page.ts';

/** The page for somebody whose password was right and is too old: a new one, and on they go. */
export const sendRenewal = async (visit: Visit, arrival: Arrival, username: string, problem: Problem) => {
  const { branding, next, destination } = arrival;
  const { fields } = problem;
  const isFirst = problem.code === 'password_expired';
  const content = html`
<h1>Time for a new password</h1>
<p class="lead">Yours has served you for a while. Choose a new one, and you are in.</p>
<form class="card" method="post" action="/login/">
${alertBox(isFirst ? null : sentenceOf(problem))}
${visit.csrfField()}
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
  isFocused: isFirst || fields?.new_password === undefined,
})}
${newPasswordField({
  name: 'new_password',
  label: 'New password',
  rules: await rulesFor(visit, username),
  errors: fields?.new_password,
  isFocused: fields?.new_password !== undefined,
})}
<button>Change password and log in</button>
<p class="aside"><a href="/password/reset/">Forgot your password?</a></p>
</form>`;
  const page = { brand: branding, title: 'Choose a new password', content };
  return sendPage(visit.reply, page, { problem, targets: formTargets(destination) });
};
