import type { FastifyInstance } from 'fastify';
import { html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { userMessage } from './display-text.ts';
import { alertBox, currentPasswordField, hiddenUsername, newPasswordField } from './fields.ts';
import { createPageContext, formField, type PageContext, type PageDeps } from './page-context.ts';
import { redirectTo } from './page-layout.ts';
import { loginPath } from './redirects.ts';

const PATH = '/password/change/';

export const servePasswordChange = (app: FastifyInstance, deps: PageDeps): void => {
  app.get(PATH, async (request, reply) => sendForm(createPageContext(request, reply, deps)));

  app.post(PATH, async (request, reply) => {
    const context = createPageContext(request, reply, deps);
    const password = formField(request, 'password');
    const newPassword = formField(request, 'new_password');
    const { problem } = await context.submit((caller) =>
      caller.passwords.change({ password, new_password: newPassword }),
    );
    return problem ? sendForm(context, problem) : sendConfirmation(context);
  });
};

const sendForm = async (context: PageContext, problem: Problem | null = null) => {
  const user = await context.currentUser();
  if (!user) return redirectTo(context.reply, loginPath(PATH));
  const errors = problem?.fields;
  const content = html`
<h1>Change your password</h1>
<form class="card" method="post" action="${PATH}">
${alertBox(problem && userMessage(problem))}
${context.csrfField()}
${hiddenUsername(user.email)}
${currentPasswordField({
  label: 'Current password',
  errors: errors?.password,
  isFocused: errors?.new_password === undefined,
})}
${newPasswordField({
  name: 'new_password',
  label: 'New password',
  rules: await context.passwordRules(user.email),
  errors: errors?.new_password,
  isFocused: errors?.password === undefined && errors?.new_password !== undefined,
})}
<button>Change password</button>
<p class="aside"><a href="/">Cancel</a></p>
</form>`;
  return context.sendPage({ title: 'Change your password', content, problem });
};

const sendConfirmation = (context: PageContext) =>
  context.sendPage({
    title: 'Password changed',
    content: html`
<h1>Password changed</h1>
<div class="card">
<p>You stay logged in here. You have been logged out everywhere else.</p>
<p><a class="button" href="/">Back to your account</a></p>
</div>`,
  });
