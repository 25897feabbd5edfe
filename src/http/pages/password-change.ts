import { html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { alertBox, hiddenUsername, passwordChangeFields } from './fields.ts';
import { formField, type PageContext, type Pages } from './page-context.ts';
import { redirectTo } from './page-layout.ts';
import { loginPath } from './redirects.ts';

const PATH = '/password/change/';

export const passwordChangePages: Pages = {
  [`GET ${PATH}`]: async (context) => sendForm(context),

  [`POST ${PATH}`]: async (context) => {
    const password = formField(context, 'password');
    const new_password = formField(context, 'new_password');
    const { problem } = await context.submit((caller) => caller.passwords.change({ password, new_password }));
    return problem ? sendForm(context, problem) : sendConfirmation(context);
  },
};

const sendForm = async (context: PageContext, problem: Problem | null = null) => {
  const user = await context.currentUser();
  if (!user) return redirectTo(context.reply, loginPath(PATH));
  const content = html`
<h1>Change your password</h1>
<form class="card" method="post" action="${PATH}">
${alertBox(problem)}
${context.csrfField()}
${hiddenUsername(user.email)}
${passwordChangeFields(problem?.fields, await context.passwordRules(user.email))}
<button>Change password</button>
<p class="aside"><a href="/">Cancel</a></p>
</form>`;
  return context.sendPage({ title: 'Change your password', content, problem });
};

const sendConfirmation = (context: PageContext) =>
  context.sendCard({
    title: 'Password changed',
    body: html`<p>You stay logged in here. You have been logged out everywhere else.</p>
<p><a class="button" href="/">Back to your account</a></p>`,
  });
