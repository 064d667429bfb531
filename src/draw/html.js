'use strict';
(function () {
  var table = document.getElementById('jobs');
  if (!table) return;
  var body = table.tBodies[0], rows = Array.from(body.rows), heads = Array.from(table.tHead.rows[0].cells);
  var order = new Intl.Collator(undefined, {numeric: true});
  function sort(i) {
    var was = heads[i].getAttribute('aria-sort');
    var down = was ? was === 'ascending' : i > 3 && heads[i].classList.contains('n');
    heads.forEach(function (head) { head.removeAttribute('aria-sort'); });
    heads[i].setAttribute('aria-sort', down ? 'descending' : 'ascending');
    rows.slice().sort(function (a, b) {
      var d = order.compare(a.cells[i].textContent, b.cells[i].textContent);
      return down ? -d : d;
    }).forEach(function (row) { body.appendChild(row); });
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
