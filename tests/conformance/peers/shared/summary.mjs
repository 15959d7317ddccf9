/** Prints the calls, and the reasons for the rest; fails if anything is neither called nor has a reason, or has a stale reason. */
export function summary(client, noun, known, called, reasons) {
  const all = new Set(known);
  console.log(`${client}: ${called.size} of ${all.size} ${noun} called, all ok`);
  for (const [name, reason] of Object.entries(reasons)) console.log(`  not called: ${name}: ${reason}`);
  const uncalled = [...all].filter((name) => !called.has(name));
  const wrong = [
    ...uncalled.filter((name) => !reasons[name]).map((name) => `${name} isn't called and has no reason`),
    ...Object.keys(reasons).filter((name) => !uncalled.includes(name)).map((name) => `${name} is called or unknown, but has a reason`),
  ];
  if (wrong.length) throw new Error(wrong.join('\n'));
}
