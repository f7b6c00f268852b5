// Canvases are repainted when the theme changes: they read `themed.version`.
class Themed {
  version = $state(0);
  constructor() {
    const changed = () => ++this.version;
    new MutationObserver(changed).observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  }
}
export const themed = new Themed();
