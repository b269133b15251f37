// Search in the browser, without a server. The index is loaded at the first
// letter. An entry matches if it has every word. Entries with the words in their
// title come first, then those with the words more often.
const query = document.getElementById('query');
const results = document.getElementById('results');
const root = new URL('.', document.currentScript.src).href; // the folder of the site

function index() {
  return new Promise((resolve, reject) => {
    if (window.foliotPages) return resolve(window.foliotPages);
    const script = document.createElement('script'); // fetch does not read from a disk
    script.src = root + 'search-index.js';
    script.onload = () => resolve(window.foliotPages);
    script.onerror = reject;
    document.head.append(script);
  });
}

function score(entry, words) {
  const title = entry.title.toLowerCase(), text = entry.text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const often = text.split(word).length - 1;
    if (!often && !title.includes(word)) return 0;
    sum += (title.includes(word) ? 100 : 0) + Math.min(often, 20);
  }
  return sum;
}

function excerpt(text, word) {
  const at = Math.max(text.toLowerCase().indexOf(word), 0);
  const begin = Math.max(text.lastIndexOf(' ', Math.max(at - 60, 0)), 0);
  return (begin > 0 ? '… ' : '') + text.slice(begin, begin + 180).trim() + ' …';
}

async function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  results.hidden = !words.length;
  if (!words.length) return;
  const entries = await index();
  const found = entries.map((entry) => ({ entry, points: score(entry, words) })).filter((one) => one.points)
    .sort((a, b) => b.points - a.points).slice(0, 12);
  results.replaceChildren(...found.map(({ entry }) => {
    const link = document.createElement('a');
    link.href = root + entry.address;
    const title = document.createElement('strong'), text = document.createElement('span');
    title.textContent = entry.title;
    text.textContent = excerpt(entry.text, words[0]);
    link.append(title, text);
    return link;
  }));
  if (!found.length) results.textContent = 'No page has all these words.';
}

query.addEventListener('input', search);
query.addEventListener('focus', search);
query.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') { query.value = ''; search(); }
  if (event.key === 'Enter') results.querySelector('a')?.click();
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== query) { event.preventDefault(); query.focus(); }
});
results.addEventListener('click', () => { results.hidden = true; });
