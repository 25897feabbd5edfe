/**
 * Accessibility fixes for Scalar's markup (as of Scalar 1.72), applied whenever the DOM changes. After a fix, the element
 * no longer matches the selector, so that no fix is applied twice.
 */
const FIXES = {
  '[role="combobox"]:not([aria-expanded])': (field) => field.setAttribute('aria-expanded', 'false'),
  '.code-input-lite__editor:not([aria-label])': (field) => {
    const label = document.querySelector(`label[for="${CSS.escape(field.parentElement.id)}"]`);
    field.setAttribute('aria-label', label?.textContent || field.dataset.placeholder || 'Value');
  },
  '.cm-content:not([aria-label])': (editor) =>
    editor.setAttribute('aria-label', editor.isContentEditable ? 'Request body' : 'Response body'),
  'button[class*="copy-button"]:not([aria-label])': (button) => button.setAttribute('aria-label', 'Copy'),
  'button[class*="copy-button"][aria-controls]': (button) => {
    if (!document.getElementById(button.getAttribute('aria-controls')))
      button.removeAttribute('aria-controls');
  },
  // Voice control needs the visible label at the start of the name (WCAG 2.5.3).
  'button.show-more[aria-label^="Show all"]': (button) => {
    const visibleLabel = button.textContent.trim();
    button.setAttribute('aria-label', `${visibleLabel}: ${button.getAttribute('aria-label')}`);
  },
  'button:is([role="none"], [role="alert"])': (button) => button.removeAttribute('role'),
  '.response-card[role="region"]': (card) => card.setAttribute('role', 'group'),
  'ul.endpoints:not([tabindex])': (list) => list.setAttribute('tabindex', '0'),
  '.scalar-app-layout section[aria-label^="Notifications"]': (section) =>
    section.setAttribute('aria-label', `Request: ${section.getAttribute('aria-label')}`),
};

/** Makes the page inert behind an open dialog, which contains a main landmark too. */
const updateInertBackground = () => {
  const page = document.querySelector('main.references-rendered');
  const isOpen = document.querySelector('.scalar-client--open') !== null;
  if (page && page.inert !== isOpen) page.inert = isOpen;
};

const applyFixes = () => {
  for (const [selector, fix] of Object.entries(FIXES)) document.querySelectorAll(selector).forEach(fix);
  updateInertBackground();
};

let isScheduled = false;
new MutationObserver(() => {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    applyFixes();
  });
}).observe(document.body, {
  subtree: true,
  childList: true,
  attributeFilter: ['aria-expanded', 'aria-label', 'role', 'style', 'class'],
});

const DOCUMENT = '/api/v1/openapi.json';
const SCHEME = /^(token|bearer|jwt)\b */i;

/** Prefills the token field with its scheme, which Scalar then also shows in code samples. */
const withScheme = async (response) => {
  const document = await response.json();
  for (const scheme of Object.values(document.components?.securitySchemes ?? {})) {
    if (scheme.type === 'apiKey' && scheme.name === 'Authorization')
      scheme['x-scalar-secret-token'] = 'Token ';
  }
  return Response.json(document);
};

/**
 * Adds the scheme if only the token was pasted. Removes the header if there is no token, because the header would take
 * precedence over the session cookie.
 */
const correctAuthorization = (headers) => {
  const value = headers.get('authorization');
  if (value === null) return;
  const token = value.replace(SCHEME, '').trim();
  if (token === '') headers.delete('authorization');
  else headers.set('authorization', `${SCHEME.exec(value)?.[1] ?? 'Token'} ${token}`);
};

globalThis.Scalar.createApiReference('#reference', {
  url: DOCUMENT,
  customFetch: async (input, init) => {
    const request = new Request(input, init);
    if (new URL(request.url).pathname === DOCUMENT) return withScheme(await fetch(request));
    const headers = new Headers(request.headers);
    correctAuthorization(headers);
    return fetch(new Request(request, { headers }));
  },
  // Makes no request to other hosts.
  proxyUrl: '',
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'direct',
  theme: 'none',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
});
