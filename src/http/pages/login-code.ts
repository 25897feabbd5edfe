import { type Html, html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { loginTarget } from './login.ts';
import { formField, isFormRejected, type PageContext, type Pages, queryParameter } from './page-context.ts';
import { codePath, formActionSources, loginPath, redirectTo } from './page-layout.ts';
import { alertBox, hiddenField, inputField } from './parts.ts';
import { passkeyArea, passkeysElsewhere } from './passkeys.ts';

type Target = Awaited<ReturnType<typeof loginTarget>>;

/** `/login/code/` asks for the second factor, after `/login/` has asked for the password. */
export const loginCodePages: Pages = {
  'GET /login/code/': async (context) => {
    const target = await loginTarget(context, queryParameter(context, 'next'));
    if (await context.currentUser()) return redirectTo(context.reply, target.destination);
    const kinds = await context.challengeKinds();
    if (!kinds) return redirectTo(context.reply, loginPath(target.next ?? '/'));
    return sendForm(context, target, {
      kinds,
      isRecovery: queryParameter(context, 'recovery') !== undefined,
    });
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
    const kinds = await context.challengeKinds();
    if (isOver || !kinds) return redirectTo(context.reply, loginPath(target.next ?? '/', 'late'));
    return sendForm(context, target, { kinds, isRecovery: formField(context, 'recovery') !== '', problem });
  },
};

type Kinds = NonNullable<Awaited<ReturnType<PageContext['challengeKinds']>>>;

/** `kinds`: of the factors that the user has. */
type State = { kinds: Kinds; isRecovery: boolean; problem?: Problem | null };

/** Asks for a code of an app, beside which a passkey can be used; without an app for the passkey; or for a recovery code. */
const sendForm = (context: PageContext, target: Target, state: State) => {
  if (state.isRecovery) return sendRecovery(context, target, state);
  return state.kinds.includes('totp') ? sendCode(context, target, state) : sendPasskey(context, target);
};

const sendCode = (context: PageContext, target: Target, { kinds, problem = null }: State) => {
  const offersPasskey = kinds.includes('passkey') && context.passkeysWork();
  const otherWay =
    offersPasskey &&
    passkeyArea({
      purpose: 'challenge',
      label: 'Use a passkey',
      ...target,
      otherwise: 'Enter a code instead.',
    });
  return sendCard(context, target, {
    title: 'Enter your code',
    lead: `Open your authenticator app and enter its code for ${target.branding.client_name}.`,
    problem,
    hasScript: offersPasskey,
    body: html`
${codeField(problem, { label: 'Code', autocomplete: 'one-time-code', inputMode: 'numeric' })}
<button>Log in</button>
${otherWay}
<p class="aside"><a href="${codePath(target.next, 'recovery')}">Use a recovery code</a></p>`,
  });
};

const sendPasskey = (context: PageContext, target: Target) => {
  const isHere = context.passkeysWork();
  return sendCard(context, target, {
    title: 'Use your passkey',
    lead: `Confirm your login to ${target.branding.client_name} with your passkey.`,
    problem: null,
    hasScript: isHere,
    body: html`
${
  isHere
    ? passkeyArea({
        purpose: 'challenge',
        label: 'Use your passkey',
        ...target,
        otherwise: 'Without it, use a recovery code.',
        isMain: true,
      })
    : passkeysElsewhere(context)
}
<p class="aside"><a href="${codePath(target.next, 'recovery')}">Use a recovery code</a></p>`,
  });
};

const sendRecovery = (context: PageContext, target: Target, { kinds, problem = null }: State) => {
  const usual = kinds.includes('totp') ? 'authenticator app' : 'passkey';
  return sendCard(context, target, {
    title: 'Enter a recovery code',
    lead: 'Each recovery code logs you in once.',
    problem,
    body: html`
${hiddenField('recovery', '1')}
${codeField(problem, { label: 'Recovery code', autocomplete: 'off' })}
<button>Log in</button>
<p class="aside"><a href="${codePath(target.next)}">Use your ${usual}</a></p>`,
    help: `Without the ${usual} and the codes, ask your administrator to reset your second factor.`,
  });
};

/** Password managers fill in the codes that they keep. */
const codeField = (
  problem: Problem | null,
  field: Pick<Parameters<typeof inputField>[0], 'label' | 'autocomplete' | 'inputMode'>,
): Html => inputField({ ...field, name: 'code', value: '', errors: problem?.fields?.code, isFocused: true });

type Card = {
  title: string;
  lead: string;
  problem: Problem | null;
  body: Html;
  help?: string;
  hasScript?: boolean;
};

const sendCard = (context: PageContext, { next, destination }: Target, card: Card) => {
  const { title, problem, hasScript = false } = card;
  const content = html`
<h1>${title}</h1>
<p class="lead">${card.lead}</p>
<form class="card" method="post" action="/login/code/">
${alertBox(problem)}
${context.csrfField()}
${next !== null && hiddenField('next', next)}
${card.body}
<p class="aside"><a href="${loginPath(next ?? '/')}">Back to login</a></p>
</form>
${card.help !== undefined && html`<p class="lead">${card.help}</p>`}`;
  return context.sendPage({
    title,
    content,
    problem,
    formAction: formActionSources(destination),
    hasScript,
  });
};
