'use strict';
(function () {
  var table = document.getElementById('jobs');
  if (!table) return;
  var body = table.tBodies[0], rows = Array.from(body.rows), heads = Array.from(table.tHead.rows[0].cells);
  var order = new Intl.Collator(undefined, {numeric: true});
  function value(row, i) {
    var text = row.cells[i].textContent;
    if (!heads[i].classList.contains('n')) return text;
    var number = parseFloat(text);
    return isNaN(number) ? -1 : number;
  }
  function sort(i) {
    var numeric = heads[i].classList.contains('n');
    var was = heads[i].getAttribute('aria-sort');
    var down = was ? was === 'ascending' : numeric && i > 3;
    heads.forEach(function (head) { head.removeAttribute('aria-sort'); });
    heads[i].setAttribute('aria-sort', down ? 'descending' : 'ascending');
    var keyed = rows.map(function (row, n) { return {row: row, key: value(row, i), n: n}; });
    keyed.sort(function (a, b) {
      var d = numeric ? a.key - b.key : order.compare(a.key, b.key);
      return (down ? -d : d) || a.n - b.n;
    });
    var all = document.createDocumentFragment();
    keyed.forEach(function (k) { all.appendChild(k.row); });
    body.appendChild(all);
  }
  heads.forEach(function (head, i) {
    var button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    button.addEventListener('click', function () { sort(i); });
    head.textContent = '';
    head.appendChild(button);
  });
  var label = document.createElement('label'), field = document.createElement('input');
  var found = document.createElement('output');
  field.type = 'search';
  label.className = 'filter';
  label.append('Show only jobs with ', field, ' ', found);
  field.addEventListener('input', function () {
    var text = field.value.toLowerCase(), n = 0;
    rows.forEach(function (row) {
      row.hidden = row.textContent.toLowerCase().indexOf(text) < 0;
      if (!row.hidden) n++;
    });
    found.textContent = text ? n + (n === 1 ? ' job' : ' jobs') : '';
  });
  table.parentNode.insertBefore(label, table);
})();
