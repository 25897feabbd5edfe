const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ', amp: '&' };

/**
 * The words of a text that may hold HTML: blocks become lines, all other tags go. The result is text, to be
 * escaped like any other.
 */
export const wordsOf = (text: string): string =>
  text
    .replaceAll(/<(script|style)\b.*?(<\/\1\s*>|$)/gis, '')
    .replaceAll(/<br\s*\/?>|<\/(p|div|li|h\d)\s*>/gi, '\n')
    // No `<` inside: from each of many the search would go on to the end.
    .replaceAll(/<\/?[a-z!][^<>]*>/gi, '')
    .replaceAll(
      /&(lt|gt|quot|#39|nbsp|amp);/gi,
      (whole, name: string) => ENTITIES[name.toLowerCase()] ?? whole,
    )
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
