import type { FastifyInstance } from 'fastify';
import type { Problem } from '../../lib/problems.ts';
import { alertBox, hiddenField, newPasswordField, usernameForManagers } from './fields.ts';
import { fieldOf, queried } from './form-body.ts';
import { html } from './html.ts';
import { sentenceOf } from './messages.ts';
import { attempt, type PageDeps, type Visit, visitOf } from './page-context.ts';
import { sendAskForLink, sendLinkIsOnItsWay } from './password-reset-request.ts';
import { rulesToShow } from './password-rules.ts';
import { sendPage } from './send-page.ts';

/** `/password/reset/`: without a token asks for the address to mail a link to, with one for the new password. */
export const servePasswordReset = (app: FastifyInstance, deps: PageDeps): void => {
  app.get('/password/reset/', async (request, reply) => {
    const visit = visitOf(request, reply, deps);
    const token = queried(request, 'token');
    return token === undefined ? sendAskForLink(visit) : sendNewPassword(visit, token);
  });

  app.post('/password/reset/', async (request, reply) => {
    const visit = visitOf(request, reply, deps);
    const token = fieldOf(request, 'token');
    return token === '' ? requestLink(visit) : reset(visit, token);
  });
};

const requestLink = async (visit: Visit) => {
  const email = fieldOf(visit.request, 'email').trim();
  const { problem } = await visit.submit((caller) => caller.passwords.requestReset({ email }));
  return problem ? sendAskForLink(visit, { email, problem }) : sendLinkIsOnItsWay(visit, email);
};

const reset = async (visit: Visit, token: string) => {
  const password = fieldOf(visit.request, 'password');
  const { problem } = await visit.submit((caller) => caller.passwords.reset({ token, password }));
  return problem ? sendNewPassword(visit, token, problem) : sendPasswordIsSet(visit);
};

/** Opening a link uses nothing up: mail scanners open all of them. */
const sendNewPassword = async (visit: Visit, token: string, problem: Problem | null = null) => {
  const opened = await attempt(() => visit.reader.passwords.verifyToken({ token }));
  if (opened.problem) return sendAskForLink(visit, { email: '', problem: opened.problem });
  const { email, rules } = opened.value;
  const content = html`
<h1>Choose a new password</h1>
<p class="lead">For ${email}</p>
<form class="card" method="post" action="/password/reset/">
${alertBox(problem && sentenceOf(problem))}
${visit.csrfField()}
${hiddenField('token', token)}
${usernameForManagers(email)}
${newPasswordField({
  name: 'password',
  label: 'New password',
  rules: rulesToShow(rules),
  errors: problem?.fields?.password,
  isFocused: true,
})}
<button>Set password</button>
</form>`;
  const brand = await visit.reader.branding.get({});
  return sendPage(visit.reply, { brand, title: 'Choose a new password', content }, { problem });
};

const sendPasswordIsSet = async (visit: Visit) => {
  const content = html`
<h1>Your new password is set</h1>
<div class="card">
<p>It works from now on. Wherever you were logged in before, you are logged out.</p>
<p><a class="button" href="/login/">Log in</a></p>
</div>`;
  const brand = await visit.reader.branding.get({});
  return sendPage(visit.reply, { brand, title: 'Your new password is set', content });
};
