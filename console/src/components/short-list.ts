/** `Ada, Grace and 3 others` */
export const shortList = (names: readonly string[], shown: number): string => {
  const rest = names.length - shown;
  if (rest <= 0) return names.join(', ');
  return `${names.slice(0, shown).join(', ')} and ${rest === 1 ? '1 other' : `${rest} others`}`;
};
