import type { FastifyInstance } from 'fastify';
import type { Problem } from '../../lib/problems.ts';
import { alertBox, inputField, newPasswordField, usernameForManagers } from './fields.ts';
import { fieldOf } from './form-body.ts';
import { html } from './html.ts';
import { sentenceOf } from './messages.ts';
import { type PageDeps, type Visit, visitOf } from './page-context.ts';
import { rulesFor } from './password-rules.ts';
import { loginPath } from './redirects.ts';
import { goTo, sendPage } from './send-page.ts';

const PATH = '/password/change/';

/** `/password/change/`: for whoever is logged in. */
export const servePasswordChange = (app: FastifyInstance, deps: PageDeps): void => {
  app.get(PATH, async (request, reply) => sendChange(visitOf(request, reply, deps)));

  app.post(PATH, async (request, reply) => {
    const visit = visitOf(request, reply, deps);
    const password = fieldOf(request, 'password');
    const newPassword = fieldOf(request, 'new_password');
    const { problem } = await visit.submit((caller) =>
      caller.passwords.change({ password, new_password: newPassword }),
    );
    return problem ? sendChange(visit, problem) : sendChanged(visit);
  });
};

const sendChange = async (visit: Visit, problem: Problem | null = null) => {
  const user = await visit.user();
  if (!user) return goTo(visit.reply, loginPath(PATH));
  const content = html`
<h1>Change your password</h1>
<form class="card" method="post" action="${PATH}">
${alertBox(problem && sentenceOf(problem))}
${visit.csrfField()}
${usernameForManagers(user.email)}
${inputField({
  name: 'password',
  label: 'Current password',
  type: 'password',
  autocomplete: 'current-password',
  errors: problem?.fields?.password,
  isFocused: problem?.fields?.new_password === undefined,
})}
${newPasswordField({
  name: 'new_password',
  label: 'New password',
  rules: await rulesFor(visit, user.email),
  errors: problem?.fields?.new_password,
  isFocused: problem?.fields?.password === undefined && problem?.fields?.new_password !== undefined,
})}
<button>Change password</button>
<p class="aside"><a href="/">Leave it as it is</a></p>
</form>`;
  const brand = await visit.reader.branding.get({});
  return sendPage(visit.reply, { brand, title: 'Change your password', content }, { problem });
};

const sendChanged = async (visit: Visit) => {
  const content = html`
<h1>Your password is changed</h1>
<div class="card">
<p>You stay logged in here. Everywhere else you are logged out.</p>
<p><a class="button" href="/">Back to your account</a></p>
</div>`;
  const brand = await visit.reader.branding.get({});
  return sendPage(visit.reply, { brand, title: 'Your password is changed', content });
};
