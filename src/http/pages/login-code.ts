import { html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { loginTarget } from './login.ts';
import { formField, isFormRejected, type PageContext, type Pages, queryParameter } from './page-context.ts';
import { codePath, formActionSources, loginPath, redirectTo } from './page-layout.ts';
import { alertBox, hiddenField, inputField } from './parts.ts';

type Target = Awaited<ReturnType<typeof loginTarget>>;

/** `/login/code/` asks for the second factor, after `/login/` has asked for the password. */
export const loginCodePages: Pages = {
  'GET /login/code/': async (context) => {
    const target = await loginTarget(context, queryParameter(context, 'next'));
    if (await context.currentUser()) return redirectTo(context.reply, target.destination);
    if (!context.hasChallenge) return redirectTo(context.reply, loginPath(target.next ?? '/'));
    return sendCode(context, target, queryParameter(context, 'recovery') !== undefined);
  },

  'POST /login/code/': async (context) => {
    const target = await loginTarget(context, formField(context, 'next'));
    const code = formField(context, 'code');
    const { problem } = await context.submit((caller) => caller.sessions.answerChallenge({ code }));
    if (!problem) return redirectTo(context.reply, target.destination);
    const isOver = problem.code === 'invalid-challenge';
    // The user has completed the login with another tab.
    const isLoggedIn = (isOver || isFormRejected(problem)) && (await context.currentUser());
    if (isLoggedIn) return redirectTo(context.reply, target.destination);
    if (isOver) return redirectTo(context.reply, loginPath(target.next ?? '/', 'late'));
    return sendCode(context, target, formField(context, 'recovery') !== '', problem);
  },
};

const sendCode = (
  context: PageContext,
  { branding, next, destination }: Target,
  isRecovery: boolean,
  problem: Problem | null = null,
) => {
  const title = isRecovery ? 'Enter a recovery code' : 'Enter your code';
  const content = html`
<h1>${title}</h1>
<p class="lead">${
    isRecovery
      ? 'Each recovery code logs you in once.'
      : `Open your authenticator app and enter its code for ${branding.client_name}.`
  }</p>
<form class="card" method="post" action="/login/code/">
${alertBox(problem)}
${context.csrfField()}
${next !== null && hiddenField('next', next)}
${isRecovery && hiddenField('recovery', '1')}
${inputField({
  name: 'code',
  label: isRecovery ? 'Recovery code' : 'Code',
  // Password managers fill in the codes that they keep.
  autocomplete: isRecovery ? 'off' : 'one-time-code',
  ...(!isRecovery && { inputMode: 'numeric' }),
  value: '',
  errors: problem?.fields?.code,
  isFocused: true,
})}
<button>Log in</button>
<p class="aside">${
    isRecovery
      ? html`<a href="${codePath(next)}">Use your authenticator app</a>`
      : html`<a href="${codePath(next, 'recovery')}">Use a recovery code</a>`
  }</p>
<p class="aside"><a href="${loginPath(next ?? '/')}">Back to login</a></p>
</form>
${isRecovery && html`<p class="lead">Without the app and the codes, ask your administrator to reset your second factor.</p>`}`;
  return context.sendPage({ title, content, problem, formAction: formActionSources(destination) });
};
