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
